/* Bookbound widget, Apache-2.0. Sources: sha256 86647fa970c95a5ec6bc32a1f9473c39b77b91a87d23246c4a113a77447edfc3 */
// src/folded.ts
function e(e) {
	let i = [];
	for (let t = e; t; t = t.parentElement) i.unshift(t);
	for (let e of i) e instanceof HTMLDetailsElement ? n(e) : t(e) || r(e)?.click();
}
function t(e) {
	return e.checkVisibility?.call(e) ?? !0;
}
function n(e) {
	if (e.open) return;
	let t = e.querySelector(":scope > summary");
	t ? t.click() : e.open = !0;
}
function r(e) {
	if (e.matches(".sd-tab-content")) return i(e.previousElementSibling);
	if (!e.matches("[role=tabpanel], .tabbed-block")) return null;
	let t = e.getAttribute("aria-labelledby");
	if (t) return document.getElementById(t);
	let n = [...e.parentElement?.children ?? []].filter((e) => e.matches("[role=tabpanel], .tabbed-block"));
	for (let t = e.parentElement; t; t = t.parentElement) {
		let r = t.querySelector(":scope > [role=tablist], :scope > .tabbed-labels");
		if (r) return i(r.querySelectorAll("[role=tab], label")[n.indexOf(e)]);
	}
	return null;
}
function i(e) {
	return e instanceof HTMLElement ? e : null;
}
// src/page.ts
var a = "bookbound-quote", o = /* @__PURE__ */ new Set([
	"SCRIPT",
	"STYLE",
	"NOSCRIPT",
	"TEMPLATE",
	"TEXTAREA"
]), s = /^\s*\d+[.)]\s/gm;
function c(e) {
	if (!e) return null;
	try {
		let t = new URL(e, location.href);
		return t.protocol === "https:" || t.protocol === "http:" ? t : null;
	} catch {
		return null;
	}
}
function l(e) {
	let t = c(document.querySelector("link[rel=canonical]")?.href ?? "");
	if (!t) return e;
	let n = d(t.pathname).split("/"), r = d(location.pathname).split("/"), i = r.length === 1 && t.origin !== location.origin;
	if (n.at(-1) !== r.at(-1) && !i) return e;
	for (; r.length > 1 && n.length > 1 && n.at(-1) === r.at(-1);) n.pop(), r.pop();
	let a = n.join("/"), o = e.pathname.split("/").slice(n.length).map((e) => `/${e}`).join("");
	return e.origin === t.origin && `${f(e.pathname)}/`.startsWith(`${a}/`) ? new URL(location.origin + r.join("/") + o + e.search + e.hash) : e;
}
function u(e) {
	return e.origin === location.origin && d(e.pathname) === d(location.pathname);
}
function d(e) {
	return f(e).replace(/\/index\.html?$|\.html?$|\/+$/, "");
}
function f(e) {
	try {
		return decodeURIComponent(e);
	} catch {
		return e;
	}
}
function ee(n, r, i) {
	let a = f(n.hash.slice(1).split(":~:")[0] ?? ""), o = a ? document.getElementById(a) : null;
	o && f(location.hash.slice(1)) !== a && history.pushState(history.state, "", `#${encodeURIComponent(a)}`);
	let s = ie(i), c = o ? Math.max(0, s.nodes.findIndex((e) => re(o, e))) : 0, l = r.map((e) => ae(s, e, c)).filter((e) => e !== null);
	ne(l);
	let u = l[0]?.startContainer.parentElement;
	u && e(u), requestAnimationFrame(() => {
		u && t(u) ? p(u, "center") : o ? p(o, "start") : a || p(document.body, "start");
	});
}
function p(e, t) {
	let n = matchMedia("(prefers-reduced-motion: reduce)").matches;
	e.scrollIntoView({
		block: t,
		behavior: n ? "auto" : "smooth"
	});
}
function m(e, t, n) {
	let r = new MutationObserver(() => {
		e.isConnected || setTimeout(a);
	}), i = () => [document.documentElement, document.body].forEach((e) => r.observe(e, { childList: !0 })), a = () => {
		e.isConnected || n.aborted || !document.body || (document.body.append(e), i(), t());
	};
	n.addEventListener("abort", () => r.disconnect()), i();
}
function te(e, t) {
	e.isConnected && e.showPopover && !e.matches(":popover-open") && e.showPopover(), t.style.setProperty("zoom", String(1 / (e.currentCSSZoom || 1)));
}
function h() {
	"highlights" in CSS && CSS.highlights.delete(a);
}
var g = !1;
function ne(e) {
	if ("highlights" in CSS) {
		if (!g) {
			let e = new CSSStyleSheet();
			e.replaceSync(`::highlight(${a}) { background-color: #ffe08a; color: #1b1b1d; }`), document.adoptedStyleSheets = [...document.adoptedStyleSheets, e], g = !0;
		}
		CSS.highlights.set(a, new Highlight(...e));
	}
}
function re(e, t) {
	return !!(e.compareDocumentPosition(t) & Node.DOCUMENT_POSITION_FOLLOWING);
}
function ie(e) {
	let t = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (t) => t instanceof Element ? t === e || o.has(t.tagName) || t.classList.contains("katex-mathml") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP : NodeFilter.FILTER_ACCEPT), n = {
		text: "",
		nodes: [],
		offsets: []
	}, r = [];
	for (; t.nextNode();) {
		let e = t.currentNode;
		_(e.data, (t, i) => {
			r.push(t), n.nodes.push(e), n.offsets.push(i);
		});
	}
	return n.text = r.join(""), n;
}
function _(e, t) {
	for (let n = 0; n < e.length; n++) {
		let r = e[n] ?? "";
		/[\p{L}\p{N}]/u.test(r) && t(r.toLowerCase()[0] ?? r, n);
	}
}
function v(e) {
	let t = "";
	return _(e.replace(s, ""), (e) => t += e), t;
}
function ae(e, t, n) {
	let r = v(t);
	if (!r) return null;
	let i = r.slice(0, 30), a = r.slice(-30);
	for (let t of n ? [n, 0] : [0]) {
		let n = e.text.indexOf(r, t);
		if (n >= 0) return y(e, n, n + r.length - 1);
		let o = e.text.indexOf(i, t), s = o < 0 ? -1 : e.text.indexOf(a, o);
		if (s >= 0 && s - o < 2 * r.length) return y(e, o, s + a.length - 1);
	}
	return null;
}
function y(e, t, n) {
	let r = e.nodes[t], i = e.nodes[n];
	if (!r || !i) return null;
	let a = document.createRange();
	a.setStart(r, e.offsets[t] ?? 0);
	let o = (e.offsets[n] ?? 0) + 1, s = /^[^\p{L}\p{N}\s]*/u.exec(i.data.slice(o))?.[0] ?? "";
	return a.setEnd(i, o + s.length), a;
}
// src/strings.ts
var b = {
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
		translating: "Translating…"
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
		server: "Something went wrong on the server. Try again in a moment."
	},
	replies: {}
}, x = {
	en: b,
	de: {
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
			translating: "Die Antwort wird übersetzt …"
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
			server: "Auf dem Server ist etwas schiefgegangen. Versuchen Sie es gleich noch einmal."
		},
		replies: {
			"This information is not available in the book.": "Diese Information steht nicht in diesem Buch.",
			"The selected text does not contain this information.": "Der markierte Text enthält diese Information nicht.",
			"I am not sure the book answers this. The closest passages:": "Es ist nicht sicher, ob das Buch diese Frage beantwortet. Am nächsten kommen diese Stellen:",
			"I am not sure the selected text answers this. The closest sentences:": "Es ist nicht sicher, ob der markierte Text diese Frage beantwortet. Am nächsten kommen diese Sätze:",
			"Only part of this is in the book.": "Nur ein Teil davon steht im Buch.",
			"Only part of this is in the selected text.": "Nur ein Teil davon steht im markierten Text.",
			"I found no sure answer to this: ": "Hierauf gibt es keine sichere Antwort: "
		}
	},
	es: {
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
			translating: "Traduciendo…"
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
			server: "Algo falló en el servidor. Inténtalo de nuevo en un momento."
		},
		replies: {
			"This information is not available in the book.": "Esta información no está en el libro.",
			"The selected text does not contain this information.": "El texto seleccionado no contiene esta información.",
			"I am not sure the book answers this. The closest passages:": "No es seguro que el libro responda a esto. Los pasajes más cercanos:",
			"I am not sure the selected text answers this. The closest sentences:": "No es seguro que el texto seleccionado responda a esto. Las frases más cercanas:",
			"Only part of this is in the book.": "Solo una parte de esto está en el libro.",
			"Only part of this is in the selected text.": "Solo una parte de esto está en el texto seleccionado.",
			"I found no sure answer to this: ": "No hay una respuesta segura a esto: "
		}
	},
	ur: {
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
			translating: "ترجمہ ہو رہا ہے…"
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
			server: "سرور پر کچھ غلط ہو گیا۔ تھوڑی دیر بعد دوبارہ کوشش کریں۔"
		},
		replies: {
			"This information is not available in the book.": "یہ معلومات اس کتاب میں نہیں ہیں۔",
			"The selected text does not contain this information.": "منتخب متن میں یہ معلومات نہیں ہیں۔",
			"I am not sure the book answers this. The closest passages:": "یقین سے نہیں کہا جا سکتا کہ کتاب میں اس کا جواب ہے۔ قریب ترین اقتباسات:",
			"I am not sure the selected text answers this. The closest sentences:": "یقین سے نہیں کہا جا سکتا کہ منتخب متن میں اس کا جواب ہے۔ قریب ترین جملے:",
			"Only part of this is in the book.": "اس کا صرف ایک حصہ کتاب میں ہے۔",
			"Only part of this is in the selected text.": "اس کا صرف ایک حصہ منتخب متن میں ہے۔",
			"I found no sure answer to this: ": "اس کا کوئی یقینی جواب نہیں ملا: "
		}
	}
}, oe = /* @__PURE__ */ new Set(["ur"]);
function se(e) {
	let t = e.map((e) => e.toLowerCase().split("-")[0] ?? "").find((e) => Object.hasOwn(x, e)) ?? "en";
	return {
		code: t,
		direction: oe.has(t) ? "rtl" : "ltr",
		strings: x[t] ?? b
	};
}
function ce(e) {
	return /\p{Script=Latin}/u.test(e);
}
var [le, ue] = ["⁨", "⁩"];
function S(e, t) {
	return e.replace("{0}", () => typeof t == "number" ? String(t) : le + t + ue);
}
function C(e, t) {
	let n = Object.keys(e.replies).find((e) => t.startsWith(e));
	if (!n) return t;
	let r = t.slice(n.length);
	return (e.replies[n] ?? "") + (r && le + r + ue);
}
function w(e, { verification: t }) {
	return t?.withheld ? e.withheld : t?.dropped ? S(e.dropped, t.dropped) : "";
}
// src/options.ts
function de(e) {
	fe(e);
	let t = se(e.language ? [e.language] : [document.documentElement.lang, ...navigator.languages]);
	return {
		server: pe(e.server),
		book: e.book?.trim() ?? "",
		key: me(e.key?.trim() ?? ""),
		color: e.color?.trim() ?? "",
		position: e.position ?? "right",
		language: t,
		placeholder: e.placeholder?.trim() || t.strings.placeholder,
		questions: (e.questions ?? []).map((e) => e.trim()).filter(Boolean),
		pages: c(e.pages?.trim() ?? "")?.href ?? "",
		open: e.open?.trim() ?? ""
	};
}
function fe({ questions: e, ...t }) {
	for (let [e, n] of Object.entries(t)) if (typeof (n ?? "") != "string") throw TypeError(`Bookbound: set \`${e}\` to text.`);
	if (!(Array.isArray(e ?? []) && (e ?? []).every((e) => typeof e == "string"))) throw TypeError("Bookbound: set `questions` to a list of texts.");
}
function pe(e) {
	let t = c(e?.trim());
	if (t) return t.href.replace(/\/*$/, "/");
	throw TypeError("Bookbound needs the address of its server: set `server` (in a script tag `data-server`) to an https:// address.");
}
function me(e) {
	return e && !he(e) && console.error("Bookbound: `key` (in a script tag `data-key`) is not valid: keys have only letters, digits and signs of ASCII. Copy it again."), e;
}
function he(e) {
	return /^[\x21-\x7e]*$/.test(e);
}
// src/client.ts
var T = 6e4, ge = 1e4, E = class extends Error {
	problem;
	constructor(e) {
		super(e.kind), this.problem = e;
	}
}, _e = {
	401: "denied",
	403: "denied",
	404: "missing",
	408: "timeout",
	413: "invalid",
	422: "invalid",
	429: "limit",
	503: "busy",
	504: "timeout"
}, ve = {
	timed_out: "timeout",
	limit_reached: "limit",
	busy: "busy",
	unreachable: "busy",
	index_unavailable: "busy"
}, ye = class {
	options;
	constructor(e) {
		this.options = e;
	}
	async *ask(e, t, n) {
		let r = e.selection ? [] : t.filter((e) => e.reply).slice(-5).map(be), i = {
			question: e.question,
			...e.selection && {
				selection: e.selection,
				scope: "selection_then_book"
			}
		};
		try {
			yield* this.stream({
				...i,
				...r.length && { conversation: r }
			}, n);
		} catch (e) {
			if (!r.length || !(e instanceof E) || e.problem.kind !== "invalid") throw e;
			yield* this.stream(i, n);
		}
	}
	async book() {
		let e = await fetch(this.url("v1/book"), {
			headers: this.headers(),
			credentials: "omit"
		});
		if (!e.ok) throw new E({ kind: "server" });
		return await e.json();
	}
	async vote(e, t) {
		let n = await this.post("v1/votes", {
			request_id: e,
			vote: t
		});
		if (!n.ok) throw new E(await D(n));
	}
	async *stream(e, t) {
		let n = new AbortController(), r = setTimeout(() => n.abort(), T), i = AbortSignal.any([t, n.signal]), a = !1;
		try {
			let t = await this.post("v1/answers", e, "text/event-stream", i);
			if (!t.ok) throw new E(await D(t));
			a = !0;
			for await (let e of xe(t)) {
				if (clearTimeout(r), r = setTimeout(() => n.abort(), T), e.name === "error") throw new E(Ce(e.data));
				if (yield e, e.name === "reply") return;
			}
			throw new E({ kind: "interrupted" });
		} catch (e) {
			throw e instanceof E || t.aborted ? e : n.signal.aborted ? new E({ kind: "timeout" }) : navigator.onLine ? new E({ kind: a ? "interrupted" : "unreachable" }) : new E({ kind: "offline" });
		} finally {
			clearTimeout(r);
		}
	}
	post(e, t, n = "application/json", r) {
		return fetch(this.url(e), {
			method: "POST",
			headers: {
				...this.headers(),
				"Content-Type": "application/json",
				Accept: n
			},
			body: JSON.stringify(t),
			credentials: "omit",
			signal: r ?? null
		});
	}
	url(e) {
		let { server: t, book: n } = this.options;
		return t + (n ? `books/${encodeURIComponent(n)}/` : "") + e;
	}
	headers() {
		let { key: e } = this.options;
		if (!he(e)) throw new E({ kind: "denied" });
		return e ? { "X-API-Key": e } : {};
	}
};
function be(e) {
	let t = e.reply?.answer;
	return {
		question: e.question,
		...t && { answer: t.slice(0, ge) }
	};
}
async function* xe(e) {
	if (!e.body) return;
	let t = e.body.pipeThrough(new TextDecoderStream()).getReader(), n = "";
	for (;;) {
		let { done: e, value: r } = await t.read();
		if (e) return;
		n += r;
		let i = n.split(/\r?\n\r?\n/);
		n = i.pop() ?? "";
		for (let e of i) {
			let t = Se(e);
			t && (yield t);
		}
	}
}
function Se(e) {
	let t = "", n = "";
	for (let r of e.split(/\r?\n/)) r.startsWith("event:") ? t = r.slice(6).trim() : r.startsWith("data:") && (n += r.slice(5));
	return t && n ? {
		name: t,
		data: JSON.parse(n)
	} : null;
}
async function D(e) {
	let t = _e[e.status] ?? "server", n = Number.parseInt(e.headers.get("Retry-After") ?? "", 10);
	if (Number.isFinite(n)) return {
		kind: t,
		retryAfter: n
	};
	let r = (await e.json().catch(() => ({}))).error?.retry_after;
	return typeof r == "number" ? {
		kind: t,
		retryAfter: r
	} : { kind: t };
}
function Ce(e) {
	let t = ve[e.error?.type ?? ""] ?? "server", n = e.error?.retry_after;
	return typeof n == "number" ? {
		kind: t,
		retryAfter: n
	} : { kind: t };
}
// src/conversation.ts
var we = [
	"open",
	"close",
	"ask",
	"reply",
	"error",
	"vote"
], Te = class {
	client;
	turns;
	listener;
	running = null;
	constructor(e, t, n) {
		this.client = e, this.turns = t, this.listener = n;
	}
	async ask(e, t) {
		let n = {
			question: e,
			selection: t,
			sentences: []
		};
		return this.stop(), this.turns.push(n), this.listener.added(n), this.listener.emit("ask", {
			question: e,
			selection: t
		}), await this.run(n), n;
	}
	async retry(e) {
		this.stop(), Object.assign(e, {
			sentences: [],
			understood: void 0,
			step: void 0,
			reply: void 0,
			vote: void 0,
			problem: void 0,
			isStopped: !1
		}), this.listener.changed(e), await this.run(e);
	}
	stop() {
		this.running?.abort(), this.running = null;
	}
	clear() {
		this.stop(), this.turns.length = 0;
	}
	async vote(e, t) {
		let n = e.reply?.request_id;
		n && (await this.client.vote(n, t), e.vote = t, this.listener.emit("vote", {
			request_id: n,
			vote: t
		}));
	}
	async run(e) {
		let t = new AbortController();
		this.running = t, this.listener.busy(!0);
		try {
			let n = this.turns.slice(0, this.turns.indexOf(e));
			for await (let r of this.client.ask(e, n, t.signal)) r.name === "question" ? e.understood = r.data.completed_question : r.name === "progress" ? e.step = r.data.step : r.name === "sentence" ? e.sentences.push(r.data) : r.name === "reply" && Object.assign(e, {
				reply: r.data,
				sentences: []
			}), this.listener.changed(e);
			e.reply && this.listener.emit("reply", e.reply);
		} catch (n) {
			t.signal.aborted ? e.isStopped = !0 : e.problem = n instanceof E ? n.problem : { kind: "server" }, this.listener.changed(e), e.problem && this.listener.emit("error", e.problem);
		} finally {
			(this.running === t || this.running === null) && (this.running = null, this.listener.busy(!1));
		}
	}
};
// src/dom.ts
function O(e, t = {}, ...n) {
	let r = document.createElement(e);
	for (let [e, n] of Object.entries(t)) typeof n == "function" ? r.addEventListener(e, n) : n === !0 ? r.setAttribute(e, "") : n != null && n !== !1 && r.setAttribute(e, String(n));
	return r.append(...n.filter((e) => e != null && e !== !1)), r;
}
var Ee = {
	ask: "M21 12a8 8 0 0 1-8 8H4l2-3.2A8 8 0 1 1 21 12zM10 10a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.7-.9 1.4M12.5 16.4v.1",
	book: "M4 5.5A2.5 2.5 0 0 1 6.5 3H20v15H6.5A2.5 2.5 0 0 0 4 20.5zM4 20.5A2.5 2.5 0 0 0 6.5 21H20v-3M9 7.5h7",
	close: "M6 6l12 12M18 6L6 18",
	clear: "M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3",
	send: "M12 20V5M5.5 11.5L12 5l6.5 6.5",
	stop: "M7 7h10v10H7z",
	retry: "M20 11a8 8 0 1 0-2.3 6.2M20 4v7h-7",
	copy: "M9 9h11v11H9zM5 15H4V4h11v1",
	done: "M5 12.5l4.5 4.5L19 7.5",
	up: "M7 11v9H4v-9zM7 11l4-8c1.5 0 2.5 1 2.5 2.5V9H19a2 2 0 0 1 2 2.3l-1 6.7a2 2 0 0 1-2 2H7",
	down: "M17 13V4h3v9zM17 13l-4 8c-1.5 0-2.5-1-2.5-2.5V15H5a2 2 0 0 1-2-2.3L4 6a2 2 0 0 1 2-2h11",
	unsure: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.7 9.5a2.4 2.4 0 1 1 3.3 2.2c-.6.3-1 .8-1 1.5v.3M12 16.7v.1",
	refused: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM8 12h8",
	problem: "M12 4l9 16H3zM12 10v4.5M12 17.2v.1",
	quote: "M5 17c2.5-1 4-3 4-6H5V6h5v5c0 4-2 6.5-5 7.5M14 17c2.5-1 4-3 4-6h-4V6h5v5c0 4-2 6.5-5 7.5"
}, k = "http://www.w3.org/2000/svg";
function A(e) {
	let t = document.createElementNS(k, "svg"), n = document.createElementNS(k, "path");
	return n.setAttribute("d", Ee[e]), t.setAttribute("viewBox", "0 0 24 24"), t.setAttribute("aria-hidden", "true"), t.append(n), t;
}
function j(e, t, n, r = "icon") {
	return O("button", {
		type: "button",
		class: r,
		"aria-label": t,
		title: t,
		click: n
	}, A(e));
}
function M(e, t, n) {
	e.replaceChildren(A(t)), e.setAttribute("aria-label", n), e.title = n;
}
// src/citations.ts
var N = 320, De = 200, P = 8, Oe = 6, F = 400, ke = /(?:^|\n)\s*(?:[-*+•]|\d+[.)])\s|\s\|\s|\S*(?:['"`]|--|\.\.\.)\S*|\s[-–—](?=\s)/u, Ae = class {
	host;
	strings;
	pages;
	onLeave;
	popover = O("div", {
		class: "popover",
		id: "bb-popover",
		role: "tooltip",
		hidden: !0
	});
	shownFor = null;
	timer = 0;
	isTouch = !1;
	constructor(e, t, n, r) {
		this.host = e, this.strings = t, this.pages = n, this.onLeave = r, this.popover.addEventListener("pointerenter", () => clearTimeout(this.timer)), this.popover.addEventListener("pointerleave", () => this.scheduleHide());
	}
	number(e, t) {
		let n = `${S(this.strings.source, e)}: ${L(t)}`;
		return this.describe(this.link(t, {
			class: "cite",
			"aria-label": n
		}, String(e)), t);
	}
	place(e, ...t) {
		let n = this.link(e, { class: "place" }, ...t, this.path(e));
		return e.quotes.length ? this.describe(n, e) : n;
	}
	hide() {
		let e = !this.popover.hidden;
		return this.popover.hidden = !0, this.shownFor?.removeAttribute("aria-describedby"), this.shownFor = null, e;
	}
	link(e, t, ...n) {
		let r = c(this.address(e));
		if (!r) return O("span", {
			...t,
			tabindex: 0,
			role: "note"
		}, ...n);
		let i = l(r), a = O("a", {
			...t,
			href: i.href
		}, ...n);
		return a.addEventListener("click", (t) => {
			this.isTouch && e.quotes.length && this.shownFor !== a ? (t.preventDefault(), this.show(a, e)) : u(i) && !t.ctrlKey && !t.metaKey && !t.shiftKey && (t.preventDefault(), this.hide(), this.onLeave(), ee(i, e.quotes, this.host));
		}), a;
	}
	address({ link: e, url: t, file: n, anchor: r = "", quotes: i }) {
		if (!this.pages || !n) return e || t;
		let a = n.split("/").map(encodeURIComponent).join("/"), o = e.split(":~:")[1] ?? je(i[0] ?? "");
		return `${this.pages}${a}#${encodeURIComponent(r)}${o ? `:~:${o}` : ""}`;
	}
	describe(e, t) {
		return e.addEventListener("pointerdown", (e) => this.isTouch = e.pointerType === "touch"), e.addEventListener("keydown", () => this.isTouch = !1), e.addEventListener("pointermove", (n) => {
			clearTimeout(this.timer), n.pointerType !== "touch" && this.shownFor !== e && this.show(e, t);
		}), e.addEventListener("pointerleave", (e) => e.pointerType !== "touch" && this.scheduleHide()), e.addEventListener("focus", () => e.matches(":focus-visible") && this.show(e, t)), e.addEventListener("blur", () => this.hide()), e;
	}
	show(e, t) {
		clearTimeout(this.timer), this.hide();
		let n = t.quotes.map((e) => O("blockquote", { dir: "auto" }, Me(e)));
		this.popover.replaceChildren(O("p", { class: "popover-path" }, this.path(t)), ...n.slice(0, 3)), this.popover.hidden = !1, this.dropQuotesThatDoNotFit(), this.shownFor = e, e.setAttribute("aria-describedby", this.popover.id);
		let r = e.getBoundingClientRect(), { offsetWidth: i, offsetHeight: a } = this.popover, o = Math.min(Math.max(P, r.left + r.width / 2 - i / 2), innerWidth - i - P), s = r.top - a - P >= 0 ? r.top - a - P : r.bottom + P;
		this.popover.style.left = `${o}px`, this.popover.style.top = `${s}px`;
	}
	dropQuotesThatDoNotFit() {
		let { popover: e } = this;
		for (; e.scrollHeight > e.clientHeight && e.childElementCount > 2;) e.lastElementChild?.remove();
	}
	scheduleHide() {
		clearTimeout(this.timer), this.timer = setTimeout(() => this.hide(), De);
	}
	path(e) {
		let t = e.path.length ? e.path : [e.section], n = t.flatMap((e, n) => [n > 0 && " › ", O("bdi", n === t.length - 1 ? { class: "last" } : {}, e)]), r = e.label || e.page;
		return O("span", { class: "path" }, ...n, r ? ` · ${S(this.strings.page, r)}` : null);
	}
};
function I(e) {
	return e.split(ke).map((e) => e.trim().split(/\s+/)).filter(([e]) => e);
}
function je(e) {
	let t = e.replace(/\p{Surrogate}/gu, " "), [n, r] = [I(t.slice(0, F)), I(t.slice(-400))], [i, a] = [n[0], r.at(-1)];
	return !i || !a ? "" : `text=${(t.length <= F && n.length === 1 && i.length <= 12 ? [i] : [i.slice(0, Oe), a.slice(-6)]).map((e) => encodeURIComponent(e.join(" ")).replaceAll("-", "%2D")).join(",")}`;
}
function L(e) {
	return (e.path.length ? e.path : [e.section]).join(" › ");
}
function Me(e) {
	return e.length > N ? `${e.slice(0, N).replace(/\s+\S*$/, "")} …` : e;
}
// src/selection.ts
var R = 1e4, Ne = 2, Pe = 250, z = 8, Fe = 28;
function B(e) {
	return e.length <= R ? e : [...e].slice(0, R).join("");
}
var V = class e {
	host;
	strings;
	onAsk;
	announce;
	panel;
	button;
	timer = 0;
	isPressed = !1;
	isTouch = !1;
	hasHinted = !1;
	constructor(e, t, n, r, i, a) {
		this.host = e, this.strings = t, this.onAsk = n, this.announce = r, this.panel = i, this.button = O("button", {
			type: "button",
			class: "ask-selection",
			hidden: !0,
			title: t.askSelectionHint,
			"aria-keyshortcuts": "Alt+A"
		}, A("ask"), t.askSelection), this.button.addEventListener("pointerdown", (e) => e.preventDefault()), this.button.addEventListener("mousedown", (e) => e.preventDefault()), this.button.addEventListener("click", () => this.ask()), this.listen(a);
	}
	static read(e) {
		let t = document.getSelection();
		if (!t || t.isCollapsed || !t.anchorNode || e.contains(t.anchorNode)) return "";
		let n = document.activeElement;
		if (n instanceof HTMLInputElement || n instanceof HTMLTextAreaElement) return "";
		let r = t.toString().trim();
		return r.length < Ne ? "" : r;
	}
	hide() {
		this.button.hidden = !0;
	}
	listen(t) {
		document.addEventListener("selectionchange", () => this.schedule(), { signal: t }), document.addEventListener("pointerdown", (e) => {
			this.isTouch = e.pointerType === "touch", this.isPressed = e.pointerType === "mouse" && e.target !== this.host;
		}, {
			capture: !0,
			signal: t
		}), document.addEventListener("pointerup", () => {
			this.isPressed = !1, this.schedule();
		}, {
			capture: !0,
			signal: t
		}), addEventListener("scroll", () => !this.button.hidden && this.place(), {
			passive: !0,
			capture: !0,
			signal: t
		}), addEventListener("resize", () => !this.button.hidden && this.place(), { signal: t }), document.addEventListener("keydown", (t) => {
			t.altKey && t.code === "KeyA" && !t.ctrlKey && !t.metaKey && e.read(this.host) ? (t.preventDefault(), this.ask()) : t.key === "Escape" && this.hide();
		}, { signal: t });
	}
	schedule() {
		clearTimeout(this.timer), this.timer = setTimeout(() => this.update(), Pe);
	}
	update() {
		let t = !this.isPressed && e.read(this.host) !== "";
		this.button.hidden = !t, t && (this.place(), this.hasHinted || this.announce(this.strings.askSelectionHint), this.hasHinted = !0);
	}
	place() {
		let e = document.getSelection();
		if (!e?.rangeCount) return this.hide();
		let t = [...e.getRangeAt(0).getClientRects()].filter((e) => e.width > 0 && e.bottom > 0 && e.top < innerHeight).at(-1);
		if (!t) return this.hide();
		let { offsetWidth: n, offsetHeight: r } = this.button, i = this.isTouch ? Fe : z, a = t.bottom + i + r < innerHeight ? t.bottom + i : t.top - i - r, [o, s] = this.freeSpan(), c = Math.min(Math.max(o + z, t.right - n / 2), s - n - z);
		this.button.style.top = `${Math.max(z, a)}px`, this.button.style.left = `${c}px`;
	}
	freeSpan() {
		let e = document.documentElement.clientWidth, t = this.panel.getBoundingClientRect();
		return t.width === 0 ? [0, e] : t.left < e - t.right ? [t.right, e] : [0, t.left];
	}
	ask() {
		let t = e.read(this.host);
		this.hide(), t && this.onAsk(t);
	}
}, Ie = 2e3, Le = 160, Re = class {
	options;
	actions;
	element;
	input;
	button;
	chip = O("div", {
		class: "chip",
		hidden: !0
	});
	selection = "";
	isBusy = !1;
	constructor(e, t) {
		this.options = e, this.actions = t;
		let { strings: n } = e.language;
		this.input = O("textarea", {
			rows: 1,
			maxlength: Ie,
			"aria-label": e.placeholder,
			placeholder: e.placeholder,
			enterkeyhint: "send"
		}), this.button = O("button", {
			type: "submit",
			class: "send"
		}), this.element = O("form", { class: "composer" }, this.chip, O("div", { class: "field" }, this.input, this.button)), this.setBusy(!1), this.element.addEventListener("submit", (e) => {
			e.preventDefault(), this.submit();
		}), this.input.addEventListener("input", () => this.fit()), this.fit(), this.input.addEventListener("keydown", (e) => {
			e.key !== "Enter" || e.shiftKey || e.isComposing || (e.preventDefault(), this.isBusy || this.submit());
		}), M(this.button, "send", n.send);
	}
	setSelection(e) {
		let { strings: t } = this.options.language;
		this.selection = B(e), this.chip.hidden = !e;
		let n = j("close", t.removeSelection, () => {
			this.setSelection(""), this.input.focus();
		}), r = O("span", { class: "visually-hidden" }, `${t.selected}: `), i = O("span", {
			class: "chip-text",
			dir: "auto"
		}, this.selection), a = this.selection.length < e.length && O("span", { class: "chip-note" }, t.selectionCut);
		this.chip.replaceChildren(...e ? [
			r,
			O("span", { class: "chip-words" }, i, a),
			n
		] : []), this.input.placeholder = e ? t.placeholderSelection : this.options.placeholder, this.input.setAttribute("aria-label", this.input.placeholder);
	}
	setBusy(e) {
		let { strings: t } = this.options.language;
		this.isBusy = e, M(this.button, e ? "stop" : "send", e ? t.stop : t.send);
	}
	submit() {
		if (this.isBusy) return this.actions.stop();
		let e = this.input.value.trim();
		if (!e) return this.input.focus();
		let { selection: t } = this;
		this.input.value = "", this.setSelection(""), this.fit(), this.actions.ask(e, t);
	}
	fit() {
		this.input.dir = this.input.value ? "auto" : this.options.language.direction, this.input.style.height = "", this.input.value && (this.input.style.height = `${Math.min(this.input.scrollHeight, Le)}px`);
	}
}, ze = class {
	name;
	constructor(e, t) {
		this.name = `bookbound:1:${e}:${t}`;
	}
	load() {
		try {
			let e = JSON.parse(sessionStorage.getItem(this.name) ?? "");
			return {
				isOpen: e.isOpen,
				turns: e.turns.filter((e) => e.question && e.reply?.status)
			};
		} catch {
			return { turns: [] };
		}
	}
	save(e, t) {
		let n = {
			isOpen: t,
			turns: e.filter((e) => e.reply).slice(-20).map((e) => ({
				...e,
				reply: e.reply && Be(e.reply)
			}))
		};
		try {
			sessionStorage.setItem(this.name, JSON.stringify(n));
		} catch {}
	}
};
function Be(e) {
	let { status: t, answer: n, note: r, partial: i, reservation: a, degraded: o, verification: s, completed_question: c } = e, { unsure: l, closest: u, refusal: d, blocks: f, sources: ee, request_id: p, trace: m } = e;
	return {
		status: t,
		answer: n,
		note: r,
		partial: i,
		reservation: a,
		degraded: o,
		verification: s,
		completed_question: c,
		unsure: l,
		closest: u,
		refusal: d,
		blocks: f,
		sources: ee,
		request_id: p,
		trace: { selection: m.selection }
	};
}
// src/panel.ts
var Ve = "(max-width: 640px)", He = 16, Ue = "a[href], button:not([disabled]), textarea, [tabindex]", We = class {
	strings;
	actions;
	element;
	log;
	heading;
	clearButton;
	suggestions = O("div", {
		class: "suggestions",
		hidden: !0
	});
	welcome;
	narrow = matchMedia(Ve);
	constructor(e, t, n, r) {
		this.strings = e, this.actions = t, this.heading = O("h2", {
			id: "bb-title",
			dir: "auto"
		}, e.title), this.clearButton = j("clear", e.clear, t.clear);
		let i = O("header", { role: "none" }, this.heading, this.clearButton, j("close", e.close, t.close));
		this.welcome = O("div", { class: "welcome" }, O("p", { class: "greeting" }, e.welcome), O("p", { class: "about" }, e.about), this.suggestions), this.log = O("div", {
			class: "log",
			role: "log",
			"aria-live": "off",
			"aria-label": e.conversation,
			tabindex: 0
		}, this.welcome), this.element = O("section", {
			class: "panel",
			role: "dialog",
			"aria-labelledby": "bb-title",
			hidden: !0
		}, i, this.log, ...n), document.addEventListener("keydown", (e) => this.isOpen && e.key === "Escape" && this.onKey(e), { signal: r }), this.element.addEventListener("keydown", (e) => this.onKey(e));
		for (let e of [
			"keydown",
			"keypress",
			"keyup"
		]) this.element.addEventListener(e, Ge);
		this.log.addEventListener("scroll", () => t.escape(), { passive: !0 }), this.narrow.addEventListener("change", () => this.setModal(), { signal: r }), visualViewport?.addEventListener("resize", () => this.fitViewport(), { signal: r }), visualViewport?.addEventListener("scroll", () => this.fitViewport(), { signal: r }), this.setModal(), this.setEmpty(!0);
	}
	get isOpen() {
		return !this.element.hidden;
	}
	get isModal() {
		return this.narrow.matches;
	}
	setTitle(e) {
		this.heading.textContent = e;
	}
	setEmpty(e) {
		this.welcome.hidden = !e, this.clearButton.hidden = e;
	}
	suggest(e) {
		let t = e.map((e) => O("button", {
			type: "button",
			class: "suggestion",
			dir: "auto",
			click: () => this.actions.ask(e)
		}, e));
		this.suggestions.replaceChildren(O("h3", {}, this.strings.tryAsking), ...t), this.suggestions.hidden = t.length === 0;
	}
	suggestChapters(e) {
		this.suggest(e.map((e) => ce(e) === ce(this.strings.suggestion) ? this.strings.suggestion.replace("{0}", () => e) : e));
	}
	scrollTo(e) {
		this.log.scrollTop = e.offsetTop - this.log.offsetTop - He;
	}
	setModal() {
		this.element.setAttribute("aria-modal", String(this.narrow.matches));
	}
	fitViewport() {
		!visualViewport || visualViewport.scale > 1 || (this.element.style.setProperty("--bb-top", `${visualViewport.offsetTop}px`), this.element.style.setProperty("--bb-height", `${visualViewport.height}px`));
	}
	onKey(e) {
		e.key === "Escape" ? this.actions.escape() || this.actions.close() : e.key === "Tab" && this.isModal && this.keepFocus(e);
	}
	keepFocus(e) {
		let t = [...this.element.querySelectorAll(Ue)].filter((e) => e.offsetParent), n = this.element.getRootNode().activeElement, [r, i] = e.shiftKey ? [t[0], t.at(-1)] : [t.at(-1), t[0]];
		n === r && (e.preventDefault(), i?.focus());
	}
};
function Ge(e) {
	e.ctrlKey || e.metaKey || e.altKey || e.stopPropagation();
}
// src/styles.css?inline
var Ke = ":host{--bb-text:#1b1d21;--bb-muted:#565c66;--bb-amber:#7a4a00;--bb-amber-line:#d9a441;--bb-red:#a1261b;--bb-shadow:0 1px 2px #0f141e14, 0 12px 40px #0f141e2e;--bb-line:color-mix(in srgb, var(--bb-text) 13%, var(--bb-paper));--bb-surface:color-mix(in srgb, var(--bb-text) 4%, var(--bb-paper));--bb-tint:color-mix(in srgb, var(--bb-accent) 10%, var(--bb-paper));all:initial!important;--lightningcss-light:initial!important;--lightningcss-dark: !important;color-scheme:light!important}:host([data-scheme=dark]){--bb-text:#e9ebee;--bb-muted:#aab1bc;--bb-amber:#f3cb74;--bb-amber-line:#9a7222;--bb-red:#ffb3aa;--bb-shadow:0 1px 2px #0006, 0 16px 48px #0000008c;--bb-tint:color-mix(in srgb, var(--bb-accent) 22%, var(--bb-paper));--lightningcss-light: !important;--lightningcss-dark:initial!important;color-scheme:dark!important}:host::backdrop{display:none!important}@media print{:host{display:none!important}}*,:before,:after{box-sizing:border-box}[hidden]{display:none!important}.root{color:var(--bb-text);text-align:start;-webkit-text-size-adjust:100%;font:15px/1.6 system-ui,-apple-system,Segoe UI,Roboto,Noto Sans,Helvetica Neue,Arial,sans-serif}.root:lang(ur){font-family:Noto Nastaliq Urdu,Noto Naskh Arabic,Noto Sans Arabic,system-ui,Segoe UI,Tahoma,sans-serif;line-height:2.2}h2,h3,p,ul,ol,blockquote,pre{font:inherit;margin:0;padding:0}button,textarea{color:inherit;font:inherit;margin:0}button{cursor:pointer;background:0 0;border:0}button:disabled{cursor:default}a{color:var(--bb-accent-text)}:focus-visible{outline:2px solid var(--bb-accent-text);outline-offset:2px}svg{fill:none;stroke:currentColor;stroke-width:1.8px;stroke-linecap:round;stroke-linejoin:round;flex:none;width:18px;height:18px}.visually-hidden{clip-path:inset(50%);white-space:nowrap;width:1px;height:1px;margin:-1px;position:absolute;overflow:hidden}.launcher,.ask-selection{z-index:2147483000;background:var(--bb-accent);color:var(--bb-on-accent);box-shadow:var(--bb-shadow);border-radius:999px;align-items:center;gap:8px;font-weight:600;transition:transform .15s,filter .15s;display:inline-flex;position:fixed}.launcher{bottom:max(20px, env(safe-area-inset-bottom));min-height:48px;padding:0 20px 0 16px}.right .launcher,.right .panel{right:20px}.left .launcher,.left .panel{left:20px}.launcher:hover,.ask-selection:hover{filter:brightness(1.07);transform:translateY(-1px)}.launcher:focus-visible,.ask-selection:focus-visible{outline:3px solid var(--bb-accent-text);outline-offset:3px}.ask-selection{min-height:36px;padding:0 14px 0 10px;font-size:14px}.ask-selection svg{width:16px;height:16px}.panel{z-index:2147483001;width:clamp(360px,30vw,440px);height:min(720px,100vh - 40px);height:var(--bb-panel-height,min(720px, calc(100dvh - 40px)));border:1px solid var(--bb-line);background:var(--bb-paper);box-shadow:var(--bb-shadow);border-radius:16px;flex-direction:column;animation:.18s ease-out bb-rise;display:flex;position:fixed;bottom:20px;overflow:hidden}@keyframes bb-rise{0%{opacity:0;transform:translateY(12px)}}header{border-bottom:1px solid var(--bb-line);align-items:center;gap:4px;padding:10px 10px 10px 20px;display:flex}[dir=rtl] header{padding:10px 20px 10px 10px}h2{text-overflow:ellipsis;white-space:nowrap;flex:1;font-size:15px;font-weight:650;overflow:hidden}.icon{width:36px;height:36px;color:var(--bb-muted);border-radius:10px;flex:none;place-items:center;transition:background-color .12s,color .12s;display:inline-grid}.icon:hover{background:color-mix(in srgb, var(--bb-text) 8%, transparent);color:var(--bb-text)}.icon[aria-pressed=true]{background:var(--bb-tint);color:var(--bb-accent-text)}.log{overscroll-behavior:contain;scrollbar-width:thin;flex:1;min-height:0;padding:20px;overflow-y:auto}.log:focus-visible{outline-offset:-2px}.welcome{flex-direction:column;justify-content:flex-end;min-height:100%;display:flex}.greeting{letter-spacing:-.01em;font-size:22px;font-weight:650;line-height:1.3}:lang(ur) .greeting{letter-spacing:0;line-height:2}:lang(ur) :is(.suggestion,.place,.popover,table){line-height:2.2}:lang(ur) :is(.cite,.number){font-family:system-ui,Segoe UI,Noto Sans,sans-serif}.composer:lang(ur) textarea{padding-block:0;line-height:36px}.about{color:var(--bb-muted);margin-top:6px}.suggestions{gap:8px;margin-top:28px;display:grid}h3{color:var(--bb-muted);font-size:13px;font-weight:600}.suggestion{border:1px solid var(--bb-line);text-align:start;border-radius:12px;padding:11px 14px;line-height:1.45;transition:border-color .12s,background-color .12s}.suggestion:hover{border-color:var(--bb-accent-text);background:var(--bb-tint)}.turn:last-child:not(:nth-child(2)){min-height:calc(100% + 33px)}.turn+.turn{border-top:1px solid var(--bb-line);margin-top:28px;padding-top:28px}.question{border-radius:14px;background:var(--bb-tint);overflow-wrap:anywhere;border-end-end-radius:4px;width:-moz-fit-content;width:fit-content;max-width:92%;margin-inline-start:auto;padding:9px 14px;font-weight:550}.asked-selection{border-inline-start:3px solid var(--bb-accent-text);-webkit-line-clamp:3;-webkit-box-orient:vertical;margin-bottom:6px;padding-inline-start:10px;font-size:13px;font-weight:400;display:-webkit-box;overflow:hidden}.body{overflow-wrap:anywhere;margin-top:16px}.understood,.selection-place{color:var(--bb-muted);margin-bottom:12px;font-size:13.5px}.label{align-items:center;gap:7px;display:flex}.label svg{width:16px;height:16px}.answered .label{color:var(--bb-accent-text)}.reply>*+*,.sentence+.sentence{margin-top:10px}.reply>.label+*,.reply>h3+*{margin-top:7px}.reply>*+h3{margin-top:18px}.unsure,.refused,.problem{border:1px solid var(--bb-line);background:var(--bb-surface);border-radius:12px;padding:14px 16px 16px}.unsure{border-color:color-mix(in srgb, var(--bb-amber-line) 55%, var(--bb-paper));background:color-mix(in srgb, var(--bb-amber-line) 10%, var(--bb-paper))}.unsure .label{color:var(--bb-amber)}.refused .label{color:var(--bb-text)}.problem{border-color:color-mix(in srgb, var(--bb-red) 35%, var(--bb-paper));background:color-mix(in srgb, var(--bb-red) 6%, var(--bb-paper))}.problem .label{color:var(--bb-red)}mark{background:color-mix(in srgb, var(--bb-accent) 17%, var(--bb-paper));color:inherit;box-shadow:0 0 0 2px color-mix(in srgb, var(--bb-accent) 17%, var(--bb-paper));-webkit-box-decoration-break:clone;box-decoration-break:clone;border-radius:3px}:host([data-scheme=dark]) mark{background:color-mix(in srgb, var(--bb-accent) 36%, var(--bb-paper));box-shadow:0 0 0 2px color-mix(in srgb, var(--bb-accent) 36%, var(--bb-paper))}.heading{margin-top:14px;font-weight:650}.block ul,.block ol{padding-inline-start:22px}.block li{padding-inline-start:2px}.block li+li,.block li>ul,.block li>ol{margin-top:5px}.block li::marker{color:var(--bb-muted)}.scroll{border:1px solid var(--bb-line);background:var(--bb-paper);border-radius:10px;overflow-x:auto}table{border-collapse:collapse;overflow-wrap:normal;width:100%;font-size:13.5px;line-height:1.45}th,td{text-align:start;min-width:84px;text-align:-webkit-match-parent;text-align:match-parent;vertical-align:top;unicode-bidi:plaintext;padding:7px 11px}thead th,thead td{background:var(--bb-surface);font-weight:600}tr+tr>*,tbody tr:first-child>*{border-top:1px solid var(--bb-line)}tbody:first-child tr:first-child>*{border-top:0}.code{position:relative}pre{border:1px solid var(--bb-line);background:var(--bb-surface);text-align:left;white-space:pre;tab-size:4;border-radius:10px;padding:12px 44px 12px 14px;font:13px/1.55 ui-monospace,SF Mono,Cascadia Code,Menlo,Consolas,DejaVu Sans Mono,monospace;overflow-x:auto}code{font:inherit}.code-copy{background:var(--bb-surface);position:absolute;top:4px;right:4px}.formula{background:var(--bb-surface);white-space:pre-wrap;border-radius:10px;padding:10px 14px;font:italic 15px/1.6 Cambria,STIX Two Text,Georgia,serif;overflow-x:auto}.note{color:var(--bb-muted);font-size:13.5px}.unverified{background:color-mix(in srgb, var(--bb-amber-line) 10%, var(--bb-paper));border:1px solid color-mix(in srgb, var(--bb-amber-line) 55%, var(--bb-paper));color:var(--bb-amber);white-space:nowrap;border-radius:4px;padding:1px 5px;font-size:12px}.closest-words{border-inline-start:2px solid var(--bb-amber-line);color:var(--bb-muted);margin-block:4px;padding-inline-start:8px;font-size:13px;display:block}.cites{margin-top:6px}.cite{background:var(--bb-tint);min-width:24px;height:24px;color:var(--bb-accent-text);vertical-align:middle;border-radius:8px;place-items:center;margin-inline-end:4px;padding:0 6px;font-size:12px;font-weight:650;line-height:1;text-decoration:none;transition:background-color .12s,color .12s;display:inline-grid}a.cite:hover{background:var(--bb-accent);color:var(--bb-on-accent)}.sources,.closest{grid-template-columns:minmax(0,1fr);gap:6px;list-style:none;display:grid}.closest{gap:12px}.closest>li+li{border-top:1px solid color-mix(in srgb, var(--bb-amber-line) 55%, var(--bb-paper));padding-top:12px}.closest .place{margin-top:8px}.place{gap:9px;min-height:24px;font-size:13.5px;line-height:1.45;text-decoration:none;display:flex}.selection-place .place{display:inline}a.place:hover .last{text-underline-offset:3px;text-decoration:underline}.place .path{color:var(--bb-muted)}a.place .last{color:var(--bb-accent-text);font-weight:550}.number{background:var(--bb-tint);min-width:20px;height:20px;color:var(--bb-accent-text);border-radius:6px;flex:none;place-items:center;padding:0 5px;font-size:11.5px;font-weight:650;display:inline-grid}.actions{gap:2px;margin:10px -9px 0;display:flex}.gap{flex:1}.stopped{color:var(--bb-muted);margin-top:10px}.retry{border:1px solid var(--bb-line);background:var(--bb-paper);min-height:36px;color:var(--bb-text);font-variant-numeric:tabular-nums;border-radius:10px;align-items:center;gap:8px;margin-top:12px;padding:0 14px;font-weight:550;display:inline-flex}.retry:hover:not(:disabled){border-color:var(--bb-accent-text)}.retry:disabled{color:var(--bb-muted)}.retry svg{width:16px;height:16px}.waiting{color:var(--bb-muted);align-items:center;gap:10px;display:flex}.sentence+.waiting{margin-top:12px}.dots{gap:4px;display:inline-flex}.dots i{background:var(--bb-accent-text);border-radius:50%;width:6px;height:6px;animation:1.2s ease-in-out infinite bb-pulse}.dots i:nth-child(2){animation-delay:.15s}.dots i:nth-child(3){animation-delay:.3s}@keyframes bb-pulse{0%,70%,to{opacity:.25}35%{opacity:1}}.composer{padding:12px 14px max(14px, env(safe-area-inset-bottom));border-top:1px solid var(--bb-line)}.field{border:1px solid color-mix(in srgb, var(--bb-text) 48%, var(--bb-paper));background:var(--bb-paper);border-radius:14px;align-items:flex-end;gap:6px;padding:5px;display:flex}.field:focus-within{border-color:var(--bb-accent-text);box-shadow:0 0 0 1px var(--bb-accent-text)}textarea{resize:none;background:0 0;border:0;outline:0;flex:1;min-width:0;padding:6px 6px 6px 10px;font-size:16px;line-height:24px}textarea:focus-visible{outline:0}[dir=rtl] textarea{padding:6px 10px 6px 6px}textarea::placeholder{color:var(--bb-muted);opacity:1;text-overflow:ellipsis;white-space:nowrap;overflow:hidden}.send{background:var(--bb-accent);width:36px;height:36px;color:var(--bb-on-accent);border-radius:10px;flex:none;place-items:center;display:inline-grid}.send:hover{filter:brightness(1.07)}.chip{border-inline-start:3px solid var(--bb-accent-text);background:var(--bb-surface);border-radius:10px;align-items:center;gap:6px;margin-bottom:8px;padding-inline-start:12px;display:flex}.chip-words{flex:1;min-width:0;padding-block:4px}.chip-text,.chip-note{color:var(--bb-muted);text-overflow:ellipsis;white-space:nowrap;font-size:13.5px;display:block;overflow:hidden}.popover{z-index:2147483002;border:1px solid var(--bb-line);background:var(--bb-paper);width:max-content;max-width:min(380px,100vw - 16px);max-height:60vh;box-shadow:var(--bb-shadow);overflow-wrap:anywhere;border-radius:12px;padding:12px 14px;font-size:13.5px;line-height:1.5;position:fixed;overflow:auto}.popover-path{color:var(--bb-muted);margin-bottom:8px;font-size:12.5px}.popover .last{color:var(--bb-text);font-weight:600}.popover blockquote{border-inline-start:3px solid var(--bb-accent);white-space:pre-line;padding-inline-start:10px}.popover blockquote+blockquote{margin-top:8px}@media (max-width:640px){.right .panel,.left .panel{inset:var(--bb-top,0) 0 auto;width:auto;height:var(--bb-height,100dvh);border:0;border-radius:0}.log{padding:16px}.launcher{bottom:max(14px, env(safe-area-inset-bottom))}.right .launcher{right:14px}.left .launcher{left:14px}}@media (pointer:coarse){.icon,.send{width:44px;height:44px}.ask-selection,.retry{min-height:44px}textarea{padding-block:10px}}@media (prefers-reduced-motion:reduce){*,:before,:after{transition:none!important;animation:none!important}}@media (forced-colors:active){.launcher,.ask-selection,.send,.cite,.question{border:1px solid}.icon[aria-pressed=true]{border:2px solid}mark{color:marktext;background:mark}}", qe = "#3457d5", Je = [
	"--ifm-color-primary",
	"--md-primary-fg-color",
	"--color-brand-primary",
	"--pst-color-primary",
	"--links"
], Ye = [
	"--ifm-background-surface-color",
	"--ifm-background-color",
	"--md-default-bg-color",
	"--color-background-primary",
	"--pst-color-background",
	"--bg"
], H = [
	255,
	255,
	255
], U = [
	0,
	0,
	0
], Xe = {
	light: H,
	dark: [
		27,
		28,
		32
	]
}, W = 4.5, Ze = 3, G = [
	"data-theme",
	"data-md-color-scheme",
	"data-bs-theme",
	"data-color-mode",
	"class"
], Qe = /(^|\s)(dark|slate|navy|coal|ayu|theme-dark|dark-mode)(\s|$)/, $e = /(^|\s)(light|default|rust|theme-light|light-mode)(\s|$)/;
function et(e, t, n, r) {
	let i = () => tt(e, t, n), a = new MutationObserver(i), o = () => {
		for (let e of [document.documentElement, document.body]) a.observe(e, {
			attributes: !0,
			attributeFilter: [...G, "style"]
		});
		i();
	};
	return matchMedia("(prefers-color-scheme: dark)").addEventListener("change", i, { signal: r }), r.addEventListener("abort", () => a.disconnect()), o(), o;
}
function tt(e, t, n) {
	let r = nt() ? "dark" : "light", i = (e) => rt(t, e), a = Ye.map((e) => i(`var(${e})`)).find((e) => e && K(e) === (r === "dark")) ?? Xe[r], o = [
		n,
		...Je.map((e) => `var(${e})`),
		qe
	].map((e) => e ? i(e) : null).find((e) => e) ?? U;
	e.dataset.scheme = r;
	let s = q(o, H) >= Ze ? H : U, c = {
		paper: a,
		accent: s === H ? ot(o, U, (e) => q(e, H) >= W) : o,
		"on-accent": s,
		"accent-text": at(o, a)
	};
	for (let [t, n] of Object.entries(c)) e.style.setProperty(`--bb-${t}`, `rgb(${n.join(" ")})`);
}
function nt() {
	for (let e of [document.documentElement, document.body]) for (let t of G) {
		let n = e.getAttribute(t) ?? "";
		if (Qe.test(n)) return !0;
		if ($e.test(n)) return !1;
	}
	for (let e of [document.body, document.documentElement]) {
		let t = it(getComputedStyle(e).backgroundColor);
		if (t) return K(t);
	}
	return matchMedia("(prefers-color-scheme: dark)").matches;
}
function rt(e, t) {
	return e.style.backgroundColor = "", e.style.backgroundColor = t, e.style.backgroundColor ? it(getComputedStyle(e).backgroundColor) : null;
}
function it(e) {
	let t = /^rgba?\(([^)]+)\)$/.exec(e)?.[1]?.split(/[\s,/]+/).map(Number);
	if (t) return (t[3] ?? 1) < 1 ? null : [
		t[0] ?? 0,
		t[1] ?? 0,
		t[2] ?? 0
	];
	let n = document.createElement("canvas").getContext("2d", { willReadFrequently: !0 });
	if (!n) return null;
	n.fillStyle = e, n.fillRect(0, 0, 1, 1);
	let [r = 0, i = 0, a = 0, o = 0] = n.getImageData(0, 0, 1, 1).data;
	return o < 255 ? null : [
		r,
		i,
		a
	];
}
function at(e, t) {
	return ot(e, K(t) ? H : U, (e) => q(e, t) >= W * 1.25);
}
function ot(e, t, n) {
	for (let r = 0; r < 1; r += .05) {
		let i = e.map((e, n) => Math.round(e + ((t[n] ?? 0) - e) * r));
		if (n(i)) return i;
	}
	return t;
}
function K(e) {
	return J(e) < .2;
}
function q(e, t) {
	let [n, r] = [J(e), J(t)].sort((e, t) => e - t);
	return (r + .05) / (n + .05);
}
function J(e) {
	let [t, n, r] = e.map((e) => {
		let t = e / 255;
		return t <= .04045 ? t / 12.92 : ((t + .055) / 1.055) ** 2.4;
	});
	return .2126 * t + .7152 * n + .0722 * r;
}
// src/blocks.ts
function st(e, t) {
	let n = e.sources.map((n) => t.cite(n, e));
	if (!e.unverified) return lt(e, n, t);
	let r = lt(e, [], t);
	return r.append(...Y(e.unverified, t.strings, n)), r;
}
function Y({ closest: e }, t, n = []) {
	let r = e && O("q", { dir: "auto" }, e), i = r && O("span", { class: "closest-words" }, t.closestWords, " ", r, ...ct(n));
	return [
		" ",
		X(t),
		...i ? [" ", i] : []
	];
}
function X(e) {
	return O("span", { class: "unverified" }, e.unverified);
}
function ct(e) {
	return e.length > 0 ? ["\xA0", ...e] : [];
}
function lt(e, t, n) {
	switch (e.kind) {
		case "heading": return O("p", {
			class: "heading",
			dir: "auto"
		}, e.text);
		case "list": return O("div", {
			class: "block",
			dir: "auto"
		}, ...dt(e.items, n.strings), Z(t));
		case "table": return O("div", { class: "block" }, pt(e, n.strings), Z(t));
		case "code": return O("div", { class: "block" }, ht(e, n), Z(t));
		case "formula": return O("div", { class: "block" }, O("p", {
			class: "formula",
			dir: "ltr"
		}, e.text), Z(t));
		default: return O("p", { dir: "auto" }, ...ut(e.text, e.marks), ...ct(t));
	}
}
function Z(e) {
	return e.length > 0 && O("p", { class: "cites" }, ...e);
}
function ut(e, t) {
	let n = [...e], r = [], i = 0;
	for (let [e, a] of [...t].sort((e, t) => e[0] - t[0])) e < i || a <= e || (r.push(n.slice(i, e).join(""), O("mark", {}, n.slice(e, a).join(""))), i = a);
	return [...r, n.slice(i).join("")];
}
function dt(e, t) {
	let n = [], r = [];
	for (let i of e) {
		for (; r.length && (r.at(-1)?.level ?? 0) > i.level;) r.pop();
		let e = i.number ? "ol" : "ul", a = r.at(-1);
		a?.level === i.level && a.list.localName !== e && r.pop();
		let o = ft(i, t), s = r.at(-1);
		if (s?.level === i.level) s.list.append(o), s.last = o;
		else {
			let t = O(e, {}, o);
			s ? s.last.append(t) : n.push(t), r.push({
				level: i.level,
				list: t,
				last: o
			});
		}
	}
	return n;
}
function ft(e, t) {
	let n = O("li", {}, e.text, ...e.unverified ? Y(e.unverified, t) : []), r = Number.parseInt(e.number, 10);
	return r >= 0 && (n.value = r), n;
}
function pt(e, t) {
	let n = e.header && O("thead", {}, O("tr", {}, ...e.header.map((e) => mt("th", e)))), r = e.rows.map((e) => O("tr", {}, ...e.map((e) => mt("td", e))));
	for (let n of e.unverified_rows ?? []) r[n.row]?.lastElementChild?.append(...Y(n, t));
	let i = O("table", { dir: "auto" }, n, O("tbody", {}, ...r));
	return O("div", {
		class: "scroll",
		tabindex: 0,
		role: "region",
		"aria-label": t.table
	}, i);
}
function mt(e, t) {
	return e === "th" && t.trim() ? O("th", { scope: "col" }, t) : O("td", {}, t);
}
function ht(e, t) {
	let { strings: n } = t, r = j("copy", n.copyCode, () => t.copy(e.text, r), "icon code-copy");
	return O("div", { class: "code" }, O("pre", {
		tabindex: 0,
		role: "region",
		"aria-label": n.code,
		dir: "ltr"
	}, O("code", {}, e.text)), r, e.cut && O("p", { class: "note" }, n.cut));
}
// src/clipboard.ts
function gt(e, t, n) {
	let r = [`**${e}**`];
	if (t.status === "answered") {
		t.note && r.push(t.note);
		for (let e of t.blocks) {
			let t = e.sources.map((e) => `[${e}]`).join(""), n = e.kind === "paragraph" || e.kind === "heading";
			r.push(e.markdown + (t && (n ? ` ${t}` : `\n\n${t}`)));
		}
		r.push(t.reservation ?? "", w(n, t)), r.push(t.sources.map((e) => `[${e.number}] ${L(e)}${e.url && `: ${e.url}`}`).join("\n"));
	} else r.push(t.note ?? t.unsure?.message ?? t.refusal?.message ?? ""), r.push(...t.closest.map((e) => `> ${e.quote.replaceAll("\n", "\n> ")}\n\n${L(e)}${e.url && `: ${e.url}`}`));
	return `${r.filter(Boolean).join("\n\n")}\n`;
}
// src/turn_view.ts
var _t = 2e3, vt = class {
	turn;
	strings;
	citations;
	actions;
	element;
	question;
	body = O("div", { class: "body" });
	countdown = 0;
	constructor(e, t, n, r) {
		this.turn = e, this.strings = t, this.citations = n, this.actions = r;
		let i = e.selection && O("blockquote", {
			class: "asked-selection",
			dir: "auto"
		}, e.selection);
		this.question = O("div", { class: "question" }, i, O("p", { dir: "auto" }, e.question)), this.element = O("article", {
			class: "turn",
			"aria-label": e.question
		}, this.question, this.body), this.render();
	}
	render() {
		clearInterval(this.countdown);
		let { turn: e } = this;
		this.element.setAttribute("aria-busy", String(!e.reply && !e.problem && !e.isStopped)), e.reply ? this.body.replaceChildren(...this.renderReply(e.reply)) : e.problem ? this.body.replaceChildren(...this.renderSentences(), this.renderProblem(e.problem)) : e.isStopped ? this.body.replaceChildren(...this.renderSentences(), this.renderStopped()) : this.body.replaceChildren(this.renderUnderstood(e.understood), ...this.renderSentences(), this.renderWaiting());
	}
	renderUnderstood(e) {
		return e && e !== this.turn.question ? O("p", {
			class: "understood",
			dir: "auto"
		}, S(this.strings.understood, e)) : "";
	}
	renderSentences() {
		return this.turn.sentences.map(({ text: e, label: t }) => O("p", {
			class: "sentence",
			dir: "auto"
		}, e, ...t === "unverified" ? [" ", X(this.strings)] : []));
	}
	renderWaiting() {
		let { step: e, sentences: t } = this.turn, n = e && this.strings.steps[e] || (t.length ? this.strings.writing : this.strings.reading);
		return O("p", { class: "waiting" }, O("span", {
			class: "dots",
			"aria-hidden": "true"
		}, O("i"), O("i"), O("i")), n);
	}
	renderReply(e) {
		return [
			this.renderUnderstood(e.completed_question),
			this.turn.selection ? this.renderSelectionPlace(e) : "",
			O("div", { class: `reply ${e.status}` }, ...{
				answered: () => this.renderAnswer(e),
				unsure: () => this.renderUnsure(e),
				refused: () => this.renderRefusal(e)
			}[e.status]()),
			this.renderActions(e)
		];
	}
	renderAnswer(e) {
		let { strings: t } = this, n = [
			e.reservation ? C(t, e.reservation) : e.partial && t.partial,
			e.degraded && t.degraded,
			w(t, e)
		];
		return [
			Q("book", t.answered),
			e.note && O("p", {
				class: "note",
				dir: "auto"
			}, e.note),
			...e.blocks.map((t) => st(t, this.blockContext(e))),
			...n.map((e) => e && O("p", {
				class: "note",
				dir: "auto"
			}, e)),
			e.sources.length > 0 && O("h3", {}, t.sources),
			e.sources.length > 0 && O("ol", { class: "sources" }, ...e.sources.map((e) => O("li", {}, this.citations.place(e, O("span", {
				class: "number",
				"aria-hidden": "true"
			}, String(e.number))))))
		];
	}
	renderUnsure(e) {
		let t = e.closest.map((t) => O("li", {}, ...t.blocks.map((t) => st(t, this.blockContext(e))), this.citations.place({
			...t,
			quotes: [t.quote]
		})));
		return [
			Q("unsure", this.strings.unsure),
			O("p", { dir: "auto" }, C(this.strings, e.unsure?.message ?? "")),
			t.length > 0 && O("ul", { class: "closest" }, ...t)
		];
	}
	renderRefusal(e) {
		if (e.note) return [O("p", { dir: "auto" }, e.note)];
		let t = (e.refusal?.sections ?? []).map((e) => O("li", {}, this.citations.place({
			...e,
			link: e.url,
			quotes: []
		})));
		return [
			Q("refused", this.strings.refused),
			O("p", { dir: "auto" }, C(this.strings, e.refusal?.message ?? "")),
			t.length > 0 && O("h3", {}, this.strings.nearby),
			t.length > 0 && O("ul", { class: "sources" }, ...t)
		];
	}
	renderSelectionPlace(e) {
		let t = e.trace.selection;
		if (!t) return O("p", { class: "selection-place" }, this.strings.selectionUnknown);
		let n = this.citations.place({
			...t,
			link: t.url,
			quotes: [this.turn.selection]
		});
		return O("p", { class: "selection-place" }, `${this.strings.selectionFrom} `, n);
	}
	renderStopped() {
		return O("div", { class: "stopped" }, O("p", {}, this.strings.stopped), this.retryButton());
	}
	renderProblem(e) {
		let { strings: t } = this, n = this.retryButton();
		return e.retryAfter && this.countDown(n, e.retryAfter), O("div", { class: "reply problem" }, Q("problem", t.problem), O("p", {}, t.problems[e.kind]), n);
	}
	retryButton() {
		return O("button", {
			type: "button",
			class: "retry",
			click: () => this.actions.retry()
		}, A("retry"), O("span", {}, this.strings.retry));
	}
	countDown(e, t) {
		let n = Date.now() + t * 1e3, r = e.querySelector("span"), i = () => {
			let t = Math.ceil((n - Date.now()) / 1e3);
			e.disabled = t > 0, r && (r.textContent = t > 0 ? S(this.strings.retryIn, t) : this.strings.retry), t <= 0 && clearInterval(this.countdown);
		};
		this.countdown = setInterval(i, 500), i();
	}
	renderActions(e) {
		let { strings: t } = this, n = j("copy", t.copy, () => void this.copy(gt(this.turn.question, e, t), n, t.copy));
		return O("div", { class: "actions" }, n, j("retry", t.retry, () => this.actions.retry()), O("span", { class: "gap" }), ...this.renderVotes());
	}
	renderVotes() {
		let e = ["up", "down"].map((e) => {
			let t = j(e, e === "up" ? this.strings.helpful : this.strings.unhelpful, () => void n(e));
			return t.setAttribute("aria-pressed", String(this.turn.vote === e)), [e, t];
		}), t = (t) => {
			for (let [n, r] of e) r.setAttribute("aria-pressed", String(n === t));
		}, n = async (e) => {
			t(e);
			try {
				await this.actions.vote(e), this.actions.announce(this.strings.thanks);
			} catch {
				t(this.turn.vote), this.actions.announce(this.strings.voteFailed);
			}
		};
		return e.map(([, e]) => e);
	}
	blockContext(e) {
		let { strings: t } = this;
		return {
			strings: t,
			cite: (t, n) => {
				let r = e.sources.find((e) => e.number === t);
				if (!r) return document.createTextNode("");
				let i = v(n.markdown), a = r.quotes.filter((e) => i.includes(v(e)));
				return this.citations.number(t, a.length ? {
					...r,
					quotes: a
				} : r);
			},
			copy: (e, n) => void this.copy(e, n, t.copyCode)
		};
	}
	async copy(e, t, n) {
		try {
			await navigator.clipboard.writeText(e), M(t, "done", this.strings.copied), this.actions.announce(this.strings.copied), setTimeout(() => M(t, "copy", n), _t);
		} catch {
			this.actions.announce(this.strings.copyFailed);
		}
	}
};
function Q(e, t) {
	return O("h3", { class: "label" }, A(e), t);
}
// src/widget.ts
var yt = 3, bt = class {
	options;
	host = O("div", {
		id: "bookbound-widget",
		popover: "manual"
	});
	status = O("div", {
		class: "visually-hidden",
		role: "status"
	});
	launcher;
	panel;
	composer;
	citations;
	selectionButton;
	client;
	history;
	conversation;
	views = /* @__PURE__ */ new Map();
	handlers = /* @__PURE__ */ new Map();
	removal = new AbortController();
	focusBefore = null;
	hasBook = !1;
	constructor(e) {
		this.options = e;
		let { strings: t, direction: n, code: r } = e.language;
		this.client = new ye(e), this.history = new ze(e.server, e.book);
		let i = this.history.load();
		this.citations = new Ae(this.host, t, e.pages, () => this.panel.isModal && this.close()), this.composer = new Re(e, {
			ask: (e, t) => void this.ask(e, t),
			stop: () => this.conversation.stop()
		}), this.panel = new We(t, {
			close: () => this.close(),
			clear: () => this.clear(),
			ask: (e) => void this.ask(e),
			escape: () => this.citations.hide()
		}, [this.composer.element, this.citations.popover], this.removal.signal), this.conversation = new Te(this.client, i.turns, {
			added: (e) => this.show(e),
			changed: (e) => this.update(e),
			busy: (e) => this.composer.setBusy(e),
			emit: (e, t) => this.emit(e, t)
		}), this.launcher = O("button", {
			type: "button",
			class: "launcher",
			"aria-haspopup": "dialog",
			click: () => this.open()
		}, A("ask"), O("span", {}, t.open)), this.launcher.hidden = e.position === "none", this.selectionButton = new V(this.host, t, (e) => this.open({ selection: e }), (e) => this.announce(e), this.panel.element, this.removal.signal), this.mount(n, r), this.panel.suggest(e.questions);
		for (let e of i.turns) this.show(e);
		(i.isOpen ?? (e.open !== "" && matchMedia(e.open).matches)) && !this.panel.isModal && this.reveal();
	}
	open({ selection: e = "" } = {}) {
		let t = e || V.read(this.host);
		if (t && this.composer.setSelection(t), !this.panel.isOpen) {
			let e = document.activeElement;
			this.focusBefore = e instanceof HTMLElement && e !== document.body && e !== this.host ? e : null, this.reveal(), this.emit("open", void 0);
		}
		this.selectionButton.hide(), this.composer.input.focus();
	}
	close() {
		this.panel.isOpen && (this.citations.hide(), this.panel.element.hidden = !0, this.launcher.hidden = this.options.position === "none", this.save(), (this.focusBefore?.isConnected ? this.focusBefore : this.launcher).focus({ preventScroll: !0 }), this.emit("close", void 0));
	}
	async ask(e, t = "") {
		let n = e.trim();
		return n ? (this.open({ selection: t }), this.composer.setSelection(""), h(), (await this.conversation.ask(n, B(t))).reply ?? null) : null;
	}
	on(e, t) {
		let n = this.handlers.get(e) ?? /* @__PURE__ */ new Set();
		return this.handlers.set(e, n.add(t)), () => n.delete(t);
	}
	unmount() {
		this.conversation.stop(), this.removal.abort(), this.host.remove(), h();
	}
	mount(e, t) {
		let { position: n, color: r } = this.options, i = new CSSStyleSheet();
		i.replaceSync(Ke);
		let a = this.host.attachShadow({ mode: "open" });
		a.adoptedStyleSheets = [i];
		let o = O("div", { hidden: !0 }), s = O("div", {
			class: `root ${n === "none" ? "right" : n}`,
			dir: e,
			lang: t
		}, this.selectionButton.button, this.launcher, this.panel.element, this.status, o);
		a.append(s), document.body.append(this.host);
		let { signal: c } = this.removal, l = et(this.host, o, r, c), u = () => te(this.host, s);
		m(this.host, () => [l, u].forEach((e) => e()), c), addEventListener("resize", u, { signal: c }), u();
	}
	reveal() {
		this.panel.element.hidden = !1, this.launcher.hidden = !0;
		let e = this.views.get(this.conversation.turns.at(-1));
		e && this.panel.scrollTo(e.question), this.save(), this.describeBook();
	}
	async describeBook() {
		if (!this.hasBook) {
			this.hasBook = !0;
			try {
				let e = await this.client.book();
				this.panel.setTitle(e.title || this.options.language.strings.title);
				let t = e.chapters.filter((t) => t.title && t.title !== e.title), n = [...t].sort((e, t) => t.chunks - e.chunks).slice(0, yt), r = t.filter((e) => n.includes(e)).map((e) => e.title);
				this.options.questions.length || this.panel.suggestChapters(r);
			} catch {
				this.hasBook = !1;
			}
		}
	}
	show(e) {
		let t = new vt(e, this.options.language.strings, this.citations, {
			retry: () => void this.conversation.retry(e),
			vote: async (t) => {
				await this.conversation.vote(e, t), this.save();
			},
			announce: (e) => this.announce(e)
		});
		this.views.set(e, t), this.panel.setEmpty(!1), this.panel.log.append(t.element), this.panel.scrollTo(t.question), e.reply || this.announce(this.options.language.strings.reading);
	}
	update(e) {
		let t = this.views.get(e);
		if (!t) return;
		t.render(), this.save();
		let { strings: n } = this.options.language, { reply: r, problem: i } = e, a = r?.unsure?.message ?? r?.refusal?.message;
		r ? this.announce([
			n[r.status],
			r.answer,
			a && C(n, a)
		].filter(Boolean).join(". ")) : i ? this.announce(n.problems[i.kind]) : e.isStopped && this.announce(n.stopped);
	}
	clear() {
		this.conversation.clear();
		for (let e of this.views.values()) e.element.remove();
		this.views.clear(), h(), this.panel.setEmpty(!0), this.save(), this.announce(this.options.language.strings.cleared), this.composer.input.focus();
	}
	save() {
		this.history.save(this.conversation.turns, this.panel.isOpen);
	}
	announce(e) {
		this.status.textContent !== e && (this.status.textContent = e);
	}
	emit(e, t) {
		for (let n of this.handlers.get(e) ?? []) try {
			n(t);
		} catch (e) {
			reportError(e);
		}
	}
};
// src/module.ts
function xt(e) {
	let t = de(e ?? {});
	window.Bookbound?.unmount();
	let n = new bt(t), r = !0, i = () => {
		if (!r) throw Error("This widget was removed from the page. Call mount again.");
	}, a = {
		open: (e = {}) => {
			i(), $(typeof e == "object" && !!e && St(e.selection), "Pass nothing or { selection: \"words of the page\" } to open."), n.open(e);
		},
		close: () => n.close(),
		ask: async (e, t) => (i(), $(typeof e == "string", "Pass the question as text to ask."), $(St(t), "Pass the selection as text to ask, or leave it out."), n.ask(e, t)),
		on: (e, t) => (i(), $(we.includes(e), "Pass the name of an event to on: open, close, ask, reply, error or vote."), $(typeof t == "function", "Pass a function as the second argument to on."), n.on(e, t)),
		unmount: () => {
			r = !1, n.unmount(), window.Bookbound === a && (window.Bookbound = void 0);
		}
	};
	return window.Bookbound = a, a;
}
function St(e) {
	return e === void 0 || typeof e == "string";
}
function $(e, t) {
	if (!e) throw TypeError(t);
}
export { xt as mount };
