from __future__ import annotations

import re
from importlib import import_module

import pytest

from bookbound.languages import detection
from bookbound.languages.detection import (
    detect_foreign_language,
    detect_question_language,
    is_english,
)
from bookbound.languages.other_languages import REPLIES, ask_in_book_language

parser = import_module("re._parser")

# The same paragraph in each language, as a page of a book, and another sentence, as an answer.
SAMPLES = {
    "English": (
        "A robot learns in simulation because trying things out is cheap there. When the policy is moved to the real "
        "machine it often fails, since friction, delays and noise are not the same as in the simulator.",
        "The simulator must be made harder than the world, so that the policy is ready for it.",
    ),
    "German": (
        "Ein Roboter lernt in der Simulation, weil das Ausprobieren dort nichts kostet. Wird die Strategie auf die "
        "echte Maschine übertragen, versagt sie oft, denn Reibung, Verzögerung und Rauschen sind nicht gleich.",
        "Die Simulation muss schwieriger sein als die Welt, damit der Roboter auf sie vorbereitet ist.",
    ),
    "French": (
        "Un robot apprend dans la simulation parce que les essais y sont bon marché. Lorsque la politique est portée "
        "sur la machine réelle, elle échoue souvent, car le frottement et le bruit ne sont pas les mêmes.",
        "La simulation doit être plus difficile que le monde pour que le robot soit prêt.",
    ),
    "Spanish": (
        "Un robot aprende en la simulación porque probar cosas es barato allí. Cuando la política se lleva a la "
        "máquina real, a menudo falla, porque la fricción y el ruido no son los mismos que en el simulador.",
        "La simulación tiene que ser más difícil que el mundo para que el robot esté preparado.",
    ),
    "Portuguese": (
        "Um robô aprende na simulação porque experimentar é barato. Quando a política é levada para a máquina real, "
        "ela falha com frequência, pois o atrito e o ruído não são os mesmos do simulador.",
        "A simulação tem de ser mais difícil do que o mundo para que o robô não seja surpreendido.",
    ),
    "Italian": (
        "Un robot impara nella simulazione perché provare non costa nulla. Quando la politica viene portata sulla "
        "macchina reale spesso fallisce, perché l'attrito e il rumore non sono gli stessi del simulatore.",
        "La simulazione deve essere più difficile del mondo, così che il robot non sia sorpreso dalla realtà.",
    ),
    "Dutch": (
        "Een robot leert in de simulatie omdat proberen daar goedkoop is. Wanneer het beleid naar de echte machine "
        "wordt overgebracht, faalt het vaak, want wrijving en ruis zijn niet hetzelfde als in de simulator.",
        "De simulatie moet moeilijker zijn dan de wereld, zodat de robot op alles is voorbereid.",
    ),
    "Swedish": (
        "En robot lär sig i simuleringen eftersom det är billigt att prova där. När strategin flyttas till den "
        "verkliga maskinen misslyckas den ofta, för friktion och brus är inte desamma som i simulatorn.",
        "Simuleringen ska vara svårare än världen, så att roboten inte blir överraskad av det som är nytt.",
    ),
    "Finnish": (
        "Robotti oppii simulaatiossa, koska kokeileminen on siellä halpaa. Kun toimintatapa siirretään oikeaan "
        "koneeseen, se epäonnistuu usein, sillä kitka ja kohina eivät ole samat, ja viiveet ovat pidempiä.",
        "Simulaation on oltava maailmaa vaikeampi, jotta robotti voi onnistua, kun se kohtaa jotain uutta, ja myös "
        "silloin, jos anturit ovat rikki.",
    ),
    "Polish": (
        "Robot uczy się w symulacji, ponieważ próbowanie jest tam tanie. Gdy strategia jest przenoszona na prawdziwą "
        "maszynę, często zawodzi, bo tarcie i szum nie są takie same jak w symulatorze.",
        "Symulacja musi być trudniejsza niż świat, aby robot nie był zaskoczony tym, co jest nowe.",
    ),
    "Czech": (
        "Robot se učí v simulaci, protože zkoušení je tam levné. Když se strategie přenese na skutečný stroj, často "
        "selže, protože tření a šum nejsou stejné jako v simulátoru a zpoždění je delší.",
        "Simulace musí být těžší než svět, aby se robot nedal překvapit tím, co je nové a co není známé.",
    ),
    "Hungarian": (
        "A robot a szimulációban tanul, mert ott olcsó a próbálkozás. Ha a stratégia az igazi gépre kerül, gyakran "
        "nem működik, mert a súrlódás és a zaj nem ugyanaz, mint a szimulátorban.",
        "A szimulációnak nehezebbnek kell lennie, hogy a robot ne lepődjön meg, ha valami új, és az is fontos.",
    ),
    "Romanian": (
        "Un robot învață în simulare pentru că acolo încercările sunt ieftine. Când strategia este mutată pe mașina "
        "reală, ea eșuează des, fiindcă frecarea și zgomotul nu sunt aceleași ca în simulator.",
        "Simularea trebuie să fie mai grea decât lumea, pentru ca robotul să nu fie surprins de ce este nou.",
    ),
    "Turkish": (
        "Bir robot benzetimde öğrenir, çünkü denemek orada ucuzdur. Strateji gerçek makineye taşındığında çoğu zaman "
        "başarısız olur; sürtünme ve gürültü benzetimdeki gibi değil, bu da daha çok hata demek.",
        "Robotun hazır olması için benzetim dünyadan daha zor olmalı ve her deneme bir öncekinden çok farklı olmalı.",
    ),
    "Indonesian": (
        "Sebuah robot belajar dalam simulasi karena mencoba di sana murah. Jika kebijakan itu dipindahkan ke mesin "
        "yang nyata, ia sering gagal karena gesekan dan derau tidak sama dengan yang ada pada simulator.",
        "Simulasi harus lebih sulit dari dunia agar robot tidak terkejut oleh hal yang baru dan dapat bekerja.",
    ),
    "Vietnamese": (
        "Một con rô-bốt học trong mô phỏng vì thử nghiệm ở đó rẻ. Khi chính sách được chuyển sang máy thật, nó thường "
        "thất bại vì ma sát và nhiễu không giống với những gì có trong mô phỏng.",
        "Mô phỏng phải khó hơn thế giới để rô-bốt không bị bất ngờ khi có những điều mới trong công việc của nó.",
    ),
    "Russian": (
        "Робот учится в симуляции, потому что пробовать там дёшево. Когда стратегию переносят на настоящую машину, "
        "она часто не работает, ведь трение и шум не те же, что в симуляторе.",
        "Симуляция должна быть труднее мира, чтобы робот был готов.",
    ),
    "Greek": (
        "Ένα ρομπότ μαθαίνει στην προσομοίωση, γιατί εκεί οι δοκιμές είναι φθηνές. Στην πραγματική μηχανή συχνά "
        "αποτυγχάνει, επειδή η τριβή και ο θόρυβος δεν είναι ίδια.",
        "Η προσομοίωση πρέπει να είναι δυσκολότερη από τον κόσμο.",
    ),
    "Arabic": (
        "يتعلم الروبوت في المحاكاة لأن التجربة هناك رخيصة. عندما تنقل السياسة إلى الآلة الحقيقية فإنها تفشل غالبا.",
        "يجب أن تكون المحاكاة أصعب من العالم حتى يكون الروبوت مستعدا.",
    ),
    "Hebrew": (
        "רובוט לומד בסימולציה כי ניסיונות שם זולים. כשהמדיניות עוברת למכונה האמיתית היא נכשלת לעתים קרובות.",
        "הסימולציה צריכה להיות קשה יותר מן העולם.",
    ),
    "Hindi": (
        "रोबोट सिमुलेशन में सीखता है क्योंकि वहाँ प्रयास सस्ता है। असली मशीन पर नीति अक्सर विफल हो जाती है।",
        "सिमुलेशन को दुनिया से अधिक कठिन होना चाहिए ताकि रोबोट तैयार रहे।",
    ),
    "Thai": (
        "หุ่นยนต์เรียนรู้ในการจำลองเพราะการทดลองที่นั่นมีราคาถูก เมื่อย้ายไปยังเครื่องจริงมักจะล้มเหลว",
        "การจำลองต้องยากกว่าโลกจริงเพื่อให้หุ่นยนต์พร้อม",
    ),
    "Chinese": (
        "机器人在仿真中学习,因为在那里尝试很便宜。当策略被转移到真实的机器上时,它常常失败,因为摩擦和噪声与仿真器中的不同。",
        "仿真必须比真实世界更难,这样机器人才能做好准备。",
    ),
    "Japanese": (
        "ロボットはシミュレーションの中で学ぶ。そこでは試すことが安いからである。実機に移すと、摩擦や雑音が異なるため失敗することが多い。",
        "シミュレーションは現実の世界よりも難しくなければならない。",
    ),
    "Korean": (
        "로봇은 시뮬레이션에서 배운다. 그곳에서는 시도하는 비용이 싸기 때문이다. 실제 기계로 옮기면 자주 실패한다.",
        "시뮬레이션은 현실 세계보다 더 어려워야 한다.",
    ),
}


@pytest.mark.parametrize("language", SAMPLES)
def test_english_is_distinguished_from_every_other_language(language: str) -> None:
    assert [is_english(text) for text in SAMPLES[language]] == [language == "English"] * 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42 Nm",
        "PID",
        "π(a|s) = θ · φ(s, a)",
        "from isaaclab.envs import ManagerBasedRLEnv; env.reset(); obs = env.step(action)",
        "Docusaurus Discord Twitter npm Jest Prettier GitHub Actions CodeQL Argos Netlify Crowdin",
        "Robots fall. Grease gears monthly.",
        "Der Spiegel and Die Zeit are the names of two papers that are printed in Germany.",
    ],
)
def test_short_texts_code_and_foreign_names_may_be_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    ["不要打开盖子。", "Не открывать.", "使用 ROS 2 的 navigation stack 不需要 localization", "Die Kette nicht lösen."],
)
def test_a_few_words_are_enough_if_they_are_clearly_not_english(text: str) -> None:
    assert not is_english(text)


def test_no_pattern_takes_quadratic_time_on_one_long_word() -> None:
    patterns = [value.pattern for value in vars(detection).values() if isinstance(value, re.Pattern)]
    assert patterns
    for pattern in patterns:
        for first, *rest in list_alternatives(parser.parse(pattern)):
            assert not (is_unbounded(first) and rest), pattern
            assert not any(is_unbounded(item) and has_nested_repeat(item) for item in (first, *rest)), pattern


@pytest.mark.parametrize("letters", ["x", ")", "x.", "_", "`x", "x1", "x "])
def test_a_text_may_be_very_long(letters: str) -> None:
    assert not is_english(f"{SAMPLES['German'][1]} {letters * 20_000}")


def list_alternatives(parsed: list[tuple[object, object]]) -> list[list[tuple[object, object]]]:
    """All sequences of nodes of a parsed pattern."""
    kind, arguments = parsed[0]
    return [list(each) for each in arguments[1]] if kind is parser.BRANCH else [list(parsed)]  # type: ignore[index]


def is_unbounded(item: tuple[object, object]) -> bool:
    return item[0] is parser.MAX_REPEAT and item[1][1] is parser.MAXREPEAT  # type: ignore[index]


def has_nested_repeat(item: tuple[object, object]) -> bool:
    return any(is_unbounded(inner) for inner in item[1][2])  # type: ignore[index]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_language_of_a_book_is_named_unless_it_is_english(name: str) -> None:
    page, sentence = SAMPLES[name]
    found = detect_foreign_language(f"{page} {sentence} " * 5)
    assert bool(found) == (name != "English")
    if name in detection.FUNCTION_WORDS and name not in ("English", "Danish", "Norwegian"):
        assert found == name


@pytest.mark.parametrize("text", ["", "x = 1", "ROS 2 Nav2 RViz", "def f():\n    return x\n" * 50, "α β γ δ " * 20])
def test_code_names_and_formulas_have_no_language(text: str) -> None:
    assert detect_foreign_language(text) == ""


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("German", "Was ist ein Gelenk?"),
        ("German", "Was kostet es?"),
        ("German", "Welche drei Teile hat ein Wellgetriebe?"),
        ("German", "Erkläre mir Topics"),
        ("Spanish", "¿Qué es un nodo?"),
        ("Spanish", "¿Cuántas articulaciones tiene el robot?"),
        ("Spanish", "cuales son las partes de un engranaje"),
        ("French", "Qu'est-ce qu'un nœud ?"),
        ("French", "Combien d'articulations a le robot ?"),
        ("French", "Pourquoi le robot tombe-t-il ?"),
        ("Italian", "Che cos'è un nodo?"),
        ("Dutch", "Hoe installeer ik Python?"),
        ("Portuguese", "O que é um nó?"),
        ("Polish", "Co to jest węzeł?"),
        ("Russian", "Что такое узел?"),
        ("Ukrainian", "Що таке вузол і навіщо він?"),
        ("Japanese", "ノードとは何ですか"),
        ("Chinese", "什么是节点？"),
        ("Korean", "노드란 무엇인가요?"),
        ("Arabic", "ما هي العقدة؟"),
        ("Persian", "گره چیست؟"),
        ("Urdu", "نوڈ کیا ہے؟"),
    ],
)
def test_the_language_of_a_short_question_is_named(language: str, question: str) -> None:
    assert detect_question_language(question, "English") == language
    if language in detection.FUNCTION_WORDS:
        assert detect_question_language(question, language) == ""


@pytest.mark.parametrize(
    "question",
    [
        "Is a JWT encrypted?",
        "is mdx v3 a big release?",
        "make a docusaurus navbar link open in a new tab",
        "min fastapi version for license identifier field?",
        "Is van der Waals force used?",
        "What is a van de Graaff generator?",
        "How do I use the de la Cruz method?",
        "What does `el` mean in `la norma`?",
        "what is a die in manufacturing",
        "same gait gave other results on cpu than on gpu, why?",
        "char* c, char *c or something else?",
        "Robots?",
        "ROS 2",
        "",
        "π",
    ],
)
def test_an_english_question_is_never_taken_for_another_language(question: str) -> None:
    assert detect_question_language(question, "English") == ""


@pytest.mark.parametrize(
    ("question", "book"),
    [("強化学習", "Japanese"), ("Що таке вузол?", "Cyrillic script"), ("نوڈ کیا ہے؟", "Arabic script")],
)
def test_a_question_in_the_script_of_the_book_is_in_its_language(question: str, book: str) -> None:
    assert detect_question_language(question, book) == ""


def test_a_question_in_english_is_another_language_than_that_of_a_german_book() -> None:
    assert detect_question_language("How does the robot walk?", "German") == "English"
    assert detect_question_language("Wie geht der Roboter?", "German") == ""


@pytest.mark.parametrize("language", sorted(REPLIES.keys() - {"Danish", "Norwegian"}))
def test_readers_are_told_in_their_own_language_in_which_one_to_ask(language: str) -> None:
    assert detect_question_language(ask_in_book_language(language, "English"), "English") == language


def test_every_language_that_is_recognized_has_its_line() -> None:
    by_letters = {name for named in detection._LANGUAGES_BY_LETTERS.values() for _, name in named}
    by_script = {*detection._LANGUAGES_BY_SCRIPT.values(), "Japanese", "Chinese"}
    assert {*detection.FUNCTION_WORDS, *by_letters, *by_script} - {"English"} == REPLIES.keys()


def test_for_a_book_in_another_language_the_line_is_in_english() -> None:
    line = ask_in_book_language("French", "German")
    assert line == "This book is in German. Ask in German, or configure a language model."
