/** What the widget says, in each language that it speaks. */

import type { ProblemKind, Reply, Step } from "./types";

export interface Strings {
  open: string;
  title: string;
  close: string;
  clear: string;
  conversation: string;
  placeholder: string;
  placeholderSelection: string;
  send: string;
  stop: string;
  askSelection: string;
  askSelectionHint: string;
  selected: string;
  removeSelection: string;
  selectionCut: string;
  welcome: string;
  about: string;
  tryAsking: string;
  suggestion: string;
  reading: string;
  writing: string;
  steps: Record<Step, string>;
  unverified: string;
  closestWords: string;
  withheld: string;
  dropped: string;
  answered: string;
  unsure: string;
  refused: string;
  partial: string;
  degraded: string;
  understood: string;
  selectionFrom: string;
  selectionUnknown: string;
  sources: string;
  source: string;
  page: string;
  nearby: string;
  cut: string;
  table: string;
  code: string;
  copy: string;
  copyCode: string;
  copied: string;
  copyFailed: string;
  retry: string;
  retryIn: string;
  helpful: string;
  unhelpful: string;
  thanks: string;
  voteFailed: string;
  stopped: string;
  cleared: string;
  problem: string;
  problems: Record<ProblemKind, string>;
  /** The beginnings of the server's English sentences, and what replaces them. */
  replies: Record<string, string>;
}

const en: Strings = {
  open: "Ask the book",
  title: "Ask the book",
  close: "Close",
  clear: "Clear the conversation",
  conversation: "Conversation",
  placeholder: "Ask about this book",
  placeholderSelection: "Ask about the selected text",
  send: "Send",
  stop: "Stop",
  askSelection: "Ask about this",
  askSelectionHint: "Press Alt+A to ask about the selected text.",
  selected: "Selected text",
  removeSelection: "Remove the selected text",
  selectionCut: "Only the first 10,000 characters are sent.",
  welcome: "What would you like to know?",
  about: "Answers come only from this book, with their sources.",
  tryAsking: "Try asking",
  suggestion: "What does the book say about {0}?",
  reading: "Reading the book…",
  writing: "Writing…",
  steps: {
    understanding: "Understanding the question…",
    writing: "Writing…",
    revising: "Checking the answer…",
    translating: "Translating…",
  },
  unverified: "not verified",
  closestWords: "The closest words of the book:",
  withheld: "The book does not support enough of what the language model wrote, so this answer quotes the book.",
  dropped: "Sentences of the language model that are left out because the book does not prove them: {0}.",
  answered: "From the book",
  unsure: "Not sure",
  refused: "No answer in this book",
  partial: "The book answers only part of this question.",
  degraded: "The language model failed, so this answer may quote the book or be incomplete.",
  understood: "Understood as: {0}",
  selectionFrom: "Your selection is from",
  selectionUnknown: "Your selection was not found in the book.",
  sources: "Sources",
  source: "Source {0}",
  page: "page {0}",
  nearby: "Closest sections",
  cut: "This code goes on in the book.",
  table: "Table",
  code: "Code",
  copy: "Copy with sources",
  copyCode: "Copy the code",
  copied: "Copied",
  copyFailed: "This could not be copied.",
  retry: "Ask again",
  retryIn: "Ask again in {0} s",
  helpful: "Helpful",
  unhelpful: "Not helpful",
  thanks: "Thank you for your vote.",
  voteFailed: "Your vote could not be stored.",
  stopped: "You stopped this answer.",
  cleared: "The conversation is cleared.",
  problem: "No answer this time",
  problems: {
    offline: "You are offline. Check your connection, then ask again.",
    unreachable: "The server cannot be reached. Try again in a moment.",
    interrupted: "The connection broke before the answer was complete. Ask again.",
    timeout: "The answer took too long. Ask again, perhaps with a shorter question.",
    limit: "You have asked many questions in a short time. Please wait a moment.",
    busy: "Many readers are asking right now. Try again in a moment.",
    denied: "This site may not ask this book. Please tell its author.",
    missing: "This book was not found. Please tell the author of this site.",
    invalid: "This question cannot be sent. Shorten it or remove the selected text.",
    server: "Something went wrong on the server. Try again in a moment.",
  },
  replies: {},
};

const de: Strings = {
  open: "Das Buch befragen",
  title: "Das Buch befragen",
  close: "Schließen",
  clear: "Gespräch löschen",
  conversation: "Gespräch",
  placeholder: "Frage zu diesem Buch stellen",
  placeholderSelection: "Frage zum markierten Text stellen",
  send: "Senden",
  stop: "Abbrechen",
  askSelection: "Dazu fragen",
  askSelectionHint: "Mit Alt+A stellen Sie eine Frage zum markierten Text.",
  selected: "Markierter Text",
  removeSelection: "Markierten Text entfernen",
  selectionCut: "Nur die ersten 10.000 Zeichen werden gesendet.",
  welcome: "Was möchten Sie wissen?",
  about: "Antworten kommen nur aus diesem Buch, mit Quellenangaben.",
  tryAsking: "Fragen Sie zum Beispiel",
  suggestion: "Was sagt das Buch über {0}?",
  reading: "Das Buch wird gelesen …",
  writing: "Die Antwort wird geschrieben …",
  steps: {
    understanding: "Die Frage wird gelesen …",
    writing: "Die Antwort wird geschrieben …",
    revising: "Die Antwort wird geprüft …",
    translating: "Die Antwort wird übersetzt …",
  },
  unverified: "nicht belegt",
  closestWords: "Am nächsten kommt im Buch:",
  withheld: "Das Buch belegt zu wenig von dem, was das Sprachmodell geschrieben hat; diese Antwort zitiert das Buch.",
  dropped: "Sätze des Sprachmodells, die weggelassen sind, weil das Buch sie nicht belegt: {0}.",
  answered: "Aus dem Buch",
  unsure: "Nicht sicher",
  refused: "Keine Antwort in diesem Buch",
  partial: "Das Buch beantwortet nur einen Teil dieser Frage.",
  degraded: "Das Sprachmodell ist ausgefallen; vielleicht zitiert diese Antwort das Buch oder ist unvollständig.",
  understood: "Verstanden als: {0}",
  selectionFrom: "Der markierte Text stammt aus",
  selectionUnknown: "Der markierte Text wurde im Buch nicht gefunden.",
  sources: "Quellen",
  source: "Quelle {0}",
  page: "Seite {0}",
  nearby: "Verwandte Abschnitte",
  cut: "Dieser Code geht im Buch weiter.",
  table: "Tabelle",
  code: "Code",
  copy: "Mit Quellen kopieren",
  copyCode: "Code kopieren",
  copied: "Kopiert",
  copyFailed: "Das Kopieren ist nicht gelungen.",
  retry: "Noch einmal fragen",
  retryIn: "Noch einmal fragen in {0} s",
  helpful: "Hilfreich",
  unhelpful: "Nicht hilfreich",
  thanks: "Danke für Ihre Rückmeldung.",
  voteFailed: "Ihre Rückmeldung konnte nicht gespeichert werden.",
  stopped: "Sie haben diese Antwort abgebrochen.",
  cleared: "Das Gespräch ist gelöscht.",
  problem: "Diesmal keine Antwort",
  problems: {
    offline: "Sie sind offline. Prüfen Sie Ihre Verbindung und fragen Sie noch einmal.",
    unreachable: "Der Server ist nicht erreichbar. Versuchen Sie es gleich noch einmal.",
    interrupted: "Die Verbindung brach ab, bevor die Antwort vollständig war. Fragen Sie noch einmal.",
    timeout: "Die Antwort hat zu lange gedauert. Fragen Sie noch einmal, vielleicht kürzer.",
    limit: "Sie haben in kurzer Zeit viele Fragen gestellt. Bitte warten Sie einen Moment.",
    busy: "Gerade werden viele Fragen gestellt. Versuchen Sie es gleich noch einmal.",
    denied: "Diese Website darf dieses Buch nicht befragen. Bitte informieren Sie den Autor.",
    missing: "Dieses Buch wurde nicht gefunden. Bitte informieren Sie den Autor dieser Website.",
    invalid: "Diese Frage kann nicht gesendet werden. Kürzen Sie sie oder entfernen Sie den markierten Text.",
    server: "Auf dem Server ist etwas schiefgegangen. Versuchen Sie es gleich noch einmal.",
  },
  replies: {
    "This information is not available in the book.": "Diese Information steht nicht in diesem Buch.",
    "The selected text does not contain this information.": "Der markierte Text enthält diese Information nicht.",
    "I am not sure the book answers this. The closest passages:": "Es ist nicht sicher, ob das Buch diese Frage beantwortet. Am nächsten kommen diese Stellen:",
    "I am not sure the selected text answers this. The closest sentences:":
      "Es ist nicht sicher, ob der markierte Text diese Frage beantwortet. Am nächsten kommen diese Sätze:",
    "Only part of this is in the book.": "Nur ein Teil davon steht im Buch.",
    "Only part of this is in the selected text.": "Nur ein Teil davon steht im markierten Text.",
    "I found no sure answer to this: ": "Hierauf gibt es keine sichere Antwort: ",
  },
};

const es: Strings = {
  open: "Pregunta al libro",
  title: "Pregunta al libro",
  close: "Cerrar",
  clear: "Borrar la conversación",
  conversation: "Conversación",
  placeholder: "Haz una pregunta sobre este libro",
  placeholderSelection: "Pregunta sobre el texto seleccionado",
  send: "Enviar",
  stop: "Detener",
  askSelection: "Preguntar sobre esto",
  askSelectionHint: "Pulsa Alt+A para preguntar sobre el texto seleccionado.",
  selected: "Texto seleccionado",
  removeSelection: "Quitar el texto seleccionado",
  selectionCut: "Solo se envían los primeros 10.000 caracteres.",
  welcome: "¿Qué quieres saber?",
  about: "Las respuestas salen solo de este libro, con sus fuentes.",
  tryAsking: "Prueba a preguntar",
  suggestion: "¿Qué dice el libro sobre {0}?",
  reading: "Leyendo el libro…",
  writing: "Escribiendo…",
  steps: {
    understanding: "Entendiendo la pregunta…",
    writing: "Escribiendo…",
    revising: "Comprobando la respuesta…",
    translating: "Traduciendo…",
  },
  unverified: "no verificado",
  closestWords: "Lo más parecido en el libro:",
  withheld: "El libro no respalda lo suficiente lo que escribió el modelo de lenguaje, así que esta respuesta cita el libro.",
  dropped: "Frases del modelo de lenguaje que se omiten porque el libro no las demuestra: {0}.",
  answered: "Del libro",
  unsure: "Sin certeza",
  refused: "Sin respuesta en este libro",
  partial: "El libro responde solo a una parte de esta pregunta.",
  degraded: "El modelo de lenguaje falló, así que esta respuesta quizá cita el libro o está incompleta.",
  understood: "Entendido como: {0}",
  selectionFrom: "El texto seleccionado procede de",
  selectionUnknown: "El texto seleccionado no se encontró en el libro.",
  sources: "Fuentes",
  source: "Fuente {0}",
  page: "página {0}",
  nearby: "Secciones relacionadas",
  cut: "Este código continúa en el libro.",
  table: "Tabla",
  code: "Código",
  copy: "Copiar con fuentes",
  copyCode: "Copiar el código",
  copied: "Copiado",
  copyFailed: "No se pudo copiar.",
  retry: "Preguntar otra vez",
  retryIn: "Preguntar otra vez en {0} s",
  helpful: "Útil",
  unhelpful: "No es útil",
  thanks: "Gracias por tu voto.",
  voteFailed: "No se pudo guardar tu voto.",
  stopped: "Has detenido esta respuesta.",
  cleared: "Se ha borrado la conversación.",
  problem: "Esta vez no hay respuesta",
  problems: {
    offline: "No tienes conexión. Compruébala y pregunta otra vez.",
    unreachable: "No se puede conectar con el servidor. Inténtalo de nuevo en un momento.",
    interrupted: "La conexión se cortó antes de completar la respuesta. Pregunta otra vez.",
    timeout: "La respuesta tardó demasiado. Pregunta otra vez, quizá con menos palabras.",
    limit: "Has hecho muchas preguntas en poco tiempo. Espera un momento.",
    busy: "Muchos lectores preguntan ahora mismo. Inténtalo de nuevo en un momento.",
    denied: "Este sitio no tiene permiso para preguntar a este libro. Avisa a su autor.",
    missing: "No se encontró este libro. Avisa al autor de este sitio.",
    invalid: "No se puede enviar esta pregunta. Acórtala o quita el texto seleccionado.",
    server: "Algo falló en el servidor. Inténtalo de nuevo en un momento.",
  },
  replies: {
    "This information is not available in the book.": "Esta información no está en el libro.",
    "The selected text does not contain this information.": "El texto seleccionado no contiene esta información.",
    "I am not sure the book answers this. The closest passages:": "No es seguro que el libro responda a esto. Los pasajes más cercanos:",
    "I am not sure the selected text answers this. The closest sentences:":
      "No es seguro que el texto seleccionado responda a esto. Las frases más cercanas:",
    "Only part of this is in the book.": "Solo una parte de esto está en el libro.",
    "Only part of this is in the selected text.": "Solo una parte de esto está en el texto seleccionado.",
    "I found no sure answer to this: ": "No hay una respuesta segura a esto: ",
  },
};

const ur: Strings = {
  open: "کتاب سے پوچھیں",
  title: "کتاب سے پوچھیں",
  close: "بند کریں",
  clear: "گفتگو صاف کریں",
  conversation: "گفتگو",
  placeholder: "اس کتاب کے بارے میں پوچھیں",
  placeholderSelection: "منتخب متن کے بارے میں پوچھیں",
  send: "بھیجیں",
  stop: "روکیں",
  askSelection: "اس کے بارے میں پوچھیں",
  askSelectionHint: "منتخب متن کے بارے میں پوچھنے کے لیے Alt+A دبائیں۔",
  selected: "منتخب متن",
  removeSelection: "منتخب متن ہٹائیں",
  selectionCut: "صرف پہلے 10,000 حروف بھیجے جائیں گے۔",
  welcome: "آپ کیا جاننا چاہتے ہیں؟",
  about: "جوابات صرف اسی کتاب سے آتے ہیں، حوالوں کے ساتھ۔",
  tryAsking: "مثال کے طور پر پوچھیں",
  suggestion: "کتاب {0} کے بارے میں کیا کہتی ہے؟",
  reading: "کتاب پڑھی جا رہی ہے…",
  writing: "جواب لکھا جا رہا ہے…",
  steps: {
    understanding: "سوال سمجھا جا رہا ہے…",
    writing: "جواب لکھا جا رہا ہے…",
    revising: "جواب کی جانچ ہو رہی ہے…",
    translating: "ترجمہ ہو رہا ہے…",
  },
  unverified: "تصدیق نہیں ہوئی",
  closestWords: "کتاب کے قریب ترین الفاظ:",
  withheld: "لینگویج ماڈل نے جو لکھا، کتاب اس کی کافی تائید نہیں کرتی، اس لیے یہ جواب کتاب کا اقتباس ہے۔",
  dropped: "لینگویج ماڈل کے وہ جملے جو چھوڑ دیے گئے کیونکہ کتاب انہیں ثابت نہیں کرتی: {0}",
  answered: "کتاب سے",
  unsure: "یقینی نہیں",
  refused: "اس کتاب میں اس کا جواب نہیں ہے",
  partial: "کتاب اس سوال کے صرف ایک حصے کا جواب دیتی ہے۔",
  degraded: "لینگویج ماڈل ناکام رہا، اس لیے یہ جواب شاید کتاب کا اقتباس ہے یا نامکمل ہے۔",
  understood: "یوں سمجھا گیا: {0}",
  selectionFrom: "آپ کا منتخب متن یہاں سے ہے",
  selectionUnknown: "آپ کا منتخب متن کتاب میں نہیں ملا۔",
  sources: "حوالے",
  source: "حوالہ {0}",
  page: "صفحہ {0}",
  nearby: "قریب ترین حصے",
  cut: "یہ کوڈ کتاب میں آگے بھی جاری ہے۔",
  table: "جدول",
  code: "کوڈ",
  copy: "حوالوں کے ساتھ کاپی کریں",
  copyCode: "کوڈ کاپی کریں",
  copied: "کاپی ہو گیا",
  copyFailed: "کاپی نہیں ہو سکا۔",
  retry: "دوبارہ پوچھیں",
  retryIn: "{0} سیکنڈ بعد دوبارہ پوچھیں",
  helpful: "مفید",
  unhelpful: "مفید نہیں",
  thanks: "آپ کی رائے کا شکریہ۔",
  voteFailed: "آپ کی رائے محفوظ نہیں ہو سکی۔",
  stopped: "آپ نے یہ جواب روک دیا۔",
  cleared: "گفتگو صاف ہو گئی۔",
  problem: "اس بار جواب نہیں ملا",
  problems: {
    offline: "آپ آف لائن ہیں۔ اپنا انٹرنیٹ کنکشن چیک کریں، پھر دوبارہ پوچھیں۔",
    unreachable: "سرور سے رابطہ نہیں ہو رہا۔ تھوڑی دیر بعد دوبارہ کوشش کریں۔",
    interrupted: "جواب مکمل ہونے سے پہلے رابطہ ٹوٹ گیا۔ دوبارہ پوچھیں۔",
    timeout: "جواب میں بہت دیر لگی۔ دوبارہ پوچھیں، ہو سکے تو سوال مختصر رکھیں۔",
    limit: "آپ نے کم وقت میں بہت سے سوال پوچھے ہیں۔ براہِ کرم تھوڑا انتظار کریں۔",
    busy: "اس وقت بہت سے قارئین پوچھ رہے ہیں۔ تھوڑی دیر بعد دوبارہ کوشش کریں۔",
    denied: "اس سائٹ کو اس کتاب سے پوچھنے کی اجازت نہیں ہے۔ براہِ کرم مصنف کو بتائیں۔",
    missing: "یہ کتاب نہیں ملی۔ براہِ کرم اس سائٹ کے مصنف کو بتائیں۔",
    invalid: "یہ سوال نہیں بھیجا جا سکتا۔ اسے مختصر کریں یا منتخب متن ہٹائیں۔",
    server: "سرور پر کچھ غلط ہو گیا۔ تھوڑی دیر بعد دوبارہ کوشش کریں۔",
  },
  replies: {
    "This information is not available in the book.": "یہ معلومات اس کتاب میں نہیں ہیں۔",
    "The selected text does not contain this information.": "منتخب متن میں یہ معلومات نہیں ہیں۔",
    "I am not sure the book answers this. The closest passages:": "یقین سے نہیں کہا جا سکتا کہ کتاب میں اس کا جواب ہے۔ قریب ترین اقتباسات:",
    "I am not sure the selected text answers this. The closest sentences:":
      "یقین سے نہیں کہا جا سکتا کہ منتخب متن میں اس کا جواب ہے۔ قریب ترین جملے:",
    "Only part of this is in the book.": "اس کا صرف ایک حصہ کتاب میں ہے۔",
    "Only part of this is in the selected text.": "اس کا صرف ایک حصہ منتخب متن میں ہے۔",
    "I found no sure answer to this: ": "اس کا کوئی یقینی جواب نہیں ملا: ",
  },
};

const LANGUAGES: Record<string, Strings> = { en, de, es, ur };
const RIGHT_TO_LEFT = new Set(["ur"]);

export interface Language {
  code: string;
  direction: "ltr" | "rtl";
  strings: Strings;
}

/** The first of the wanted languages that the widget speaks, else English. */
export function chooseLanguage(wanted: readonly string[]): Language {
  const codes = wanted.map((tag) => tag.toLowerCase().split("-")[0] ?? "");
  const code = codes.find((each) => Object.hasOwn(LANGUAGES, each)) ?? "en";
  return { code, direction: RIGHT_TO_LEFT.has(code) ? "rtl" : "ltr", strings: LANGUAGES[code] ?? en };
}

export function isLatin(text: string): boolean {
  return /\p{Script=Latin}/u.test(text);
}

const [ISOLATE, END_ISOLATE] = ["\u2068", "\u2069"];

/** A sentence with its gap filled; words of another direction keep theirs, and do not disturb the rest. */
export function fill(sentence: string, value: string | number): string {
  return sentence.replace("{0}", () => (typeof value === "number" ? String(value) : ISOLATE + value + END_ISOLATE));
}

/** A sentence of the server in the reader's language, if it is known. */
export function translate(strings: Strings, message: string): string {
  const start = Object.keys(strings.replies).find((each) => message.startsWith(each));
  if (!start) return message;
  const rest = message.slice(start.length);
  return (strings.replies[start] ?? "") + (rest && ISOLATE + rest + END_ISOLATE);
}

/** What of a language model's answer is not shown, or an empty text. */
export function describeVerification(strings: Strings, { verification }: Reply): string {
  if (verification?.withheld) return strings.withheld;
  return verification?.dropped ? fill(strings.dropped, verification.dropped) : "";
}
