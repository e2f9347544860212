"""Says in the reader's own language that a question must be in the language of the book."""

from __future__ import annotations

from collections.abc import Mapping

NOT_TRANSLATED_REPLY = "This book is in {0}, and the language model did not translate the question. Ask in {0}."
DEFAULT_REPLY = "This book is in {0}. Ask in {0}, or configure a language model."
REPLIES: Mapping[str, str] = {
    "German": "Dieses Buch ist auf Englisch. Fragen Sie auf Englisch, oder richten Sie ein Sprachmodell ein.",
    "French": "Ce livre est en anglais. Posez la question en anglais, ou configurez un modèle de langage.",
    "Spanish": "Este libro está en inglés. Haz la pregunta en inglés o configura un modelo de lenguaje.",
    "Portuguese": "Este livro está em inglês. Pergunte em inglês ou configure um modelo de linguagem.",
    "Italian": "Questo libro è in inglese. Fai la domanda in inglese o configura un modello linguistico.",
    "Dutch": "Dit boek is in het Engels. Stel de vraag in het Engels, of stel een taalmodel in.",
    "Swedish": "Den här boken är på engelska. Fråga på engelska, eller ställ in en språkmodell.",
    "Danish": "Denne bog er på engelsk. Spørg på engelsk, eller indstil en sprogmodel.",
    "Norwegian": "Denne boken er på engelsk. Spør på engelsk, eller sett opp en språkmodell.",
    "Finnish": "Tämä kirja on englanniksi. Kysy englanniksi tai ota käyttöön kielimalli.",
    "Polish": "Ta książka jest po angielsku. Zadaj pytanie po angielsku albo skonfiguruj model językowy.",
    "Czech": "Tato kniha je v angličtině. Zeptejte se anglicky, nebo nastavte jazykový model.",
    "Hungarian": "Ez a könyv angol nyelvű. Kérdezzen angolul, vagy állítson be egy nyelvi modellt.",
    "Romanian": "Această carte este în engleză. Întrebați în engleză sau configurați un model de limbaj.",
    "Turkish": "Bu kitap İngilizce. Sorunuzu İngilizce sorun veya bir dil modeli yapılandırın.",
    "Indonesian": "Buku ini berbahasa Inggris. Ajukan pertanyaan dalam bahasa Inggris, atau atur model bahasa.",
    "Vietnamese": "Cuốn sách này bằng tiếng Anh. Hãy hỏi bằng tiếng Anh, hoặc thiết lập một mô hình ngôn ngữ.",
    "Russian": "Эта книга на английском языке. Задайте вопрос по-английски или настройте языковую модель.",
    "Ukrainian": "Ця книга англійською мовою. Запитайте англійською або налаштуйте мовну модель.",
    "Greek": "Αυτό το βιβλίο είναι στα αγγλικά. Ρωτήστε στα αγγλικά ή ρυθμίστε ένα γλωσσικό μοντέλο.",
    "Korean": "이 책은 영어로 되어 있습니다. 영어로 질문하거나 언어 모델을 설정하세요.",
    "Japanese": "この本は英語です。英語で質問するか、言語モデルを設定してください。",
    "Chinese": "本书是英文的。请用英文提问，或配置一个语言模型。",
    "Hindi": "यह पुस्तक अंग्रेज़ी में है। अंग्रेज़ी में पूछें, या एक भाषा मॉडल सेट करें।",
    "Arabic": "هذا الكتاب باللغة الإنجليزية. اطرح سؤالك بالإنجليزية، أو أعدّ نموذجًا لغويًا.",
    "Urdu": "یہ کتاب انگریزی میں ہے۔ انگریزی میں پوچھیں، یا ایک لینگویج ماڈل ترتیب دیں۔",
    "Persian": "این کتاب به زبان انگلیسی است. به انگلیسی بپرسید، یا یک مدل زبانی تنظیم کنید.",
    "Hebrew": "הספר הזה באנגלית. שאלו באנגלית, או הגדירו מודל שפה.",
    "Thai": "หนังสือเล่มนี้เป็นภาษาอังกฤษ โปรดถามเป็นภาษาอังกฤษ หรือกำหนดค่าโมเดลภาษา",
}
"""One line for each language that a question is recognized in; for a book in English."""


def ask_in_book_language(language: str, book_language: str, *, has_model: bool = False) -> str:
    """Returns one line in a language that says in which language to ask; in English if a language model failed."""
    if has_model:
        return NOT_TRANSLATED_REPLY.format(book_language)
    reply = REPLIES.get(language) if book_language == "English" else None
    return reply or DEFAULT_REPLY.format(book_language)
