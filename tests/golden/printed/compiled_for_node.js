// Written by `hearsay-client compile` from the registry: do not edit.
import { boolean, category, count, cross, number, ordinal, set, balancedDesign, cyclicDesign, exponential, kAryRandomizedResponse, optimalMean, projectiveGeometry, randomizedResponse } from "hearsay-ldp/spec";

const registry = {
 "format": 1,
 "target": "node",
 "app": "golden-web",
 "budget": {
  "window": "day",
  "per_window": "15000000000",
  "lifetime": "400000000000",
  "delta": "500000000000000000"
 },
 "metrics": {
  "dark_mode": {
   "purpose": "Is the dark theme worth its upkeep?",
   "kind": "boolean",
   "domain": {},
   "window": "day",
   "mechanism": "randomized-response",
   "integers": {
    "keep_numerator": "13835058055282163712"
   },
   "edition": "e40f8e3e3027",
   "terms": "83788acd3e0cb53f",
   "nanos": "1098612289",
   "attos": "0"
  },
  "os": {
   "purpose": "Which systems must we test?",
   "kind": "category",
   "domain": {
    "values": [
     "linux",
     "macos",
     "windows",
     "other"
    ],
    "other": "other"
   },
   "window": "day",
   "mechanism": "k-ary-randomized-response",
   "integers": {
    "inputs": "4",
    "keep_numerator": "8768971294881393556"
   },
   "edition": "90f72fc71a80",
   "terms": "aeb8a070d06e4445",
   "nanos": "1000000000",
   "attos": "0"
  },
  "theme": {
   "purpose": "Which theme is used?",
   "kind": "category",
   "domain": {
    "values": [
     "sand",
     "sea",
     "sky",
     "snow",
     "soot",
     "straw",
     "sun"
    ]
   },
   "window": "day",
   "expires": "2027-12-31",
   "mechanism": "projective-geometry",
   "integers": {
    "inputs": "7",
    "prime": "2",
    "dimension": "3",
    "keep_numerator": "11068046444225730969"
   },
   "edition": "5f3639a1c6c7",
   "terms": "a27ca47e5a1e2032",
   "nanos": "693147181",
   "attos": "0"
  },
  "font": {
   "purpose": "Which font is used?",
   "kind": "category",
   "domain": {
    "values": [
     "mono",
     "sans",
     "serif",
     "slab",
     "script"
    ]
   },
   "window": "day",
   "mechanism": "cyclic-design",
   "integers": {
    "inputs": "5",
    "block_size": "2",
    "base_blocks": "2",
    "keep_numerator": "13820940929280898438"
   },
   "edition": "9d6f15531cba",
   "terms": "b1699b63fca25129",
   "nanos": "1500000000",
   "attos": "0"
  },
  "panel": {
   "purpose": "Which panel is open first?",
   "kind": "category",
   "domain": {
    "values": [
     "files",
     "find",
     "git",
     "run",
     "tests",
     "tools"
    ]
   },
   "window": "week",
   "mechanism": "k-ary-randomized-response",
   "integers": {
    "inputs": "6",
    "keep_numerator": "14769975238704387187"
   },
   "edition": "9b3ab9bdb5f5",
   "terms": "3bdc81eaa5839d30",
   "nanos": "3000000000",
   "attos": "0"
  },
  "cost": {
   "purpose": "Which plan would be paid for?",
   "kind": "category",
   "domain": {
    "values": [
     "free",
     "small",
     "large"
    ]
   },
   "window": "day",
   "mechanism": "exponential",
   "integers": {
    "inputs": "3",
    "weights": [
     "537842121733766841",
     "397673681992157922",
     "217405700880922213",
     "275709788110106826",
     "504322224094194474",
     "372889492402545676",
     "238879094350003519",
     "323077047239902999",
     "590965363016940458"
    ]
   },
   "edition": "cb27fe42453d",
   "terms": "49fcedab1d066805",
   "nanos": "999992211",
   "attos": "0"
  },
  "mood": {
   "purpose": "Do people like the new editor?",
   "kind": "ordinal",
   "domain": {
    "values": [
     "bad",
     "fair",
     "good",
     "great"
    ]
   },
   "window": "day",
   "mechanism": "exponential",
   "integers": {
    "inputs": "4",
    "weights": [
     "443800878538995231",
     "317998033843137099",
     "227856127416871858",
     "163266464807842788",
     "280370060706775457",
     "391286945249091631",
     "280370060706775457",
     "200894437944204431",
     "200894437944204431",
     "280370060706775457",
     "391286945249091631",
     "280370060706775457",
     "163266464807842788",
     "227856127416871858",
     "317998033843137099",
     "443800878538995231"
    ]
   },
   "edition": "13b9869493a8",
   "terms": "9f3426b8ca2a8bce",
   "nanos": "999992371",
   "attos": "0"
  },
  "languages": {
   "purpose": "Which languages are written?",
   "kind": "set",
   "domain": {
    "values": [
     "C",
     "Go",
     "Java",
     "Python",
     "Rust"
    ],
    "max_items": 2
   },
   "window": "day",
   "mechanism": "k-ary-randomized-response",
   "integers": {
    "inputs": "7",
    "keep_numerator": "7841676344458411400",
    "drawn": "2"
   },
   "edition": "e44056d474be",
   "terms": "d1a611d633704906",
   "nanos": "1000000000",
   "attos": "0"
  },
  "startup_ms": {
   "purpose": "Is start-up fast enough?",
   "kind": "number",
   "domain": {
    "low": "0",
    "high": "3000",
    "statistic": "mean"
   },
   "window": "day",
   "mechanism": "optimal-mean",
   "integers": {
    "steps": [
     "300",
     "294",
     "294",
     "300"
    ],
    "width": "4",
    "light": "1741099023684132483",
    "heavy": "2870586994743255419"
   },
   "edition": "5b402d6ccc3f",
   "terms": "4217b9718693491d",
   "nanos": "500000000",
   "attos": "0"
  },
  "crashes": {
   "purpose": "How often does it crash?",
   "kind": "count",
   "domain": {
    "max": 9,
    "statistic": "distribution"
   },
   "window": "day",
   "mechanism": "balanced-design",
   "integers": {
    "inputs": "10",
    "points": "10",
    "block_size": "3",
    "order": "1",
    "starters": [
     "0",
     "2",
     "3"
    ],
    "weights": [
     "2",
     "3",
     "1"
    ],
    "keep_numerator": "9926221139934917497"
   },
   "edition": "63fb9087dbde",
   "terms": "494b259a23fca1e1",
   "nanos": "1000000000",
   "attos": "0"
  },
  "screens": {
   "purpose": "Is the second screen wanted in dark rooms?",
   "kind": "cross",
   "domain": {
    "cross": [
     {
      "kind": "boolean"
     },
     {
      "kind": "category",
      "values": [
       "linux",
       "macos",
       "windows",
       "other"
      ],
      "other": "other"
     }
    ]
   },
   "window": "day",
   "mechanism": "cyclic-design",
   "integers": {
    "inputs": "8",
    "block_size": "2",
    "base_blocks": "7",
    "keep_numerator": "8768971294881393556"
   },
   "edition": "72f34528a0ad",
   "terms": "9e0ea31db91164a5",
   "nanos": "1000000000",
   "attos": "0"
  }
 },
 "sentences": {
  "de": {
   "number.decimal": ",",
   "number.thousands": ".",
   "number.date": "{day}.{month}.{year}",
   "consent.wants": "{app} möchte Ihre Antworten auf diese Fragen melden:",
   "consent.change": "Sie können sich jederzeit anders entscheiden.",
   "consent.reveals": "Was die Antworten eines Jahres verraten können",
   "consent.may": "Einverstanden?",
   "consent.yes": "ja",
   "consent.no": "nein",
   "consent.more": "mehr",
   "consent.on": "Die Telemetrie ist eingeschaltet. Sie haben am {by} zugestimmt.",
   "consent.some": "Die Telemetrie ist für einige Zwecke eingeschaltet: {purposes}. Sie haben am {by} zugestimmt.",
   "consent.off": "Die Telemetrie ist ausgeschaltet. Sie haben am {by} abgelehnt.",
   "consent.undecided": "Die Telemetrie ist ausgeschaltet. Sie wurden noch nicht gefragt.",
   "consent.variable_on": "Die Telemetrie ist für diesen Lauf eingeschaltet, weil {by} auf 1 gesetzt ist.",
   "consent.suppressed": "Die Telemetrie ist für diesen Lauf unterdrückt, weil {by} gesetzt ist.",
   "consent.machine": "Die Telemetrie ist auf diesem Rechner unterdrückt, weil es {by} gibt.",
   "consent.changed": "Seit Ihrer Zustimmung am {by} hat {app} die Grenze dessen erhöht, was verraten werden darf, oder sendet die Meldungen an eine andere Adresse. Bis Sie über diese Fragen entscheiden, wird nichts gemeldet:",
   "consent.withheld": "Ausgeschaltet, bis Sie zustimmen: {metrics}.",
   "consent.stored": "Ihre Entscheidung ist gespeichert.",
   "consent.forgotten": "Was über Ihre Antworten gespeichert war, ist gelöscht.",
   "consent.again": "Sie haben am {by} den Fragen von {app} zugestimmt. Die unveränderten Fragen laufen weiter, was immer Sie jetzt antworten. Diese Fragen sind neu oder haben sich geändert:",
   "consent.sent": "Die Meldungen gehen an {host}.",
   "consent.type": "Bitte geben Sie eines dieser Wörter ein.",
   "consent.variable_off": "Die Telemetrie ist für diesen Lauf unterdrückt, weil {by} auf einen anderen Wert als 1 gesetzt ist.",
   "consent.paused": "Die Telemetrie pausiert: Seit Ihrer Zustimmung am {by} hat die Anwendung eine Grenze erhöht oder sendet ihre Meldungen an eine andere Adresse.",
   "reported.true": "ja",
   "reported.false": "nein",
   "reported.nothing": "nichts notiert",
   "reported.padding": "nichts weiter",
   "reported.or": "{first} oder {last}",
   "reported.or_others": "{first} oder andere",
   "reported.range": "{low} bis {high}",
   "reported.symbol": "Symbol {symbol}",
   "reported.along": "entlang Achse {axis} der Zufallsdrehung {rotation}",
   "reported.against": "gegen Achse {axis} der Zufallsdrehung {rotation}",
   "reported.texts": "Texte in {held} von {cells} Zellen, denen von Punkt {point} in Gruppe {group}",
   "reported.labeled": "{answer} mit Zielwert {label}",
   "reported.feature": "{feature}: {answers}",
   "outcome.accepted": "angenommen",
   "outcome.rejected": "mit der ganzen Sendung abgelehnt",
   "outcome.unknown_metric": "abgelehnt: Der Sammeldienst kennt die Frage nicht",
   "outcome.unknown_edition": "abgelehnt: Der Sammeldienst kennt diese Fassung der Frage nicht",
   "outcome.former_edition": "abgelehnt: Der Sammeldienst nimmt diese Fassung der Frage nicht mehr an",
   "outcome.wrong_window": "abgelehnt: Der Zeitraum passt nicht zur Frage",
   "outcome.window_in_future": "abgelehnt: Der Zeitraum hat noch nicht begonnen",
   "outcome.window_closed": "abgelehnt: Der Zeitraum ist abgeschlossen",
   "outcome.metric_expired": "abgelehnt: Die Frage ist beendet",
   "outcome.symbol_out_of_range": "abgelehnt: keine mögliche Meldung",
   "outcome.queue_full": "zu viele warteten",
   "outcome.no_longer_asked": "nicht mehr gefragt",
   "outcome.stopped": "vom Sammeldienst gestoppt",
   "outcome.too_late": "zu spät",
   "outcome.unanswered": "keine Antwort vom Sammeldienst",
   "outcome.out_of_budget": "die Grenze war erreicht",
   "outcome.not_asked": "dieses Gerät war nicht an der Reihe",
   "outcome.expired": "die Frage ist beendet",
   "outcome.busy": "das Gerät war beschäftigt",
   "outcome.unavailable": "nichts konnte gespeichert werden",
   "outcome.first_window": "der Speicher ist neu",
   "history.caption": "Was dieses Gerät verlassen hat",
   "history.window": "Wann",
   "history.metric": "Frage",
   "history.reported": "Was gemeldet wurde",
   "history.outcome": "Was daraus wurde",
   "history.randomized": "Was gemeldet wurde, hat der Zufall ausgehend von Ihrer Antwort bestimmt.",
   "history.nothing": "Nichts hat dieses Gerät verlassen.",
   "history.forget": "Beenden und diese Liste löschen",
   "history.forgotten": "Gelöscht. Es wird nichts mehr aufgezeichnet.",
   "history.failed": "Das konnte nicht gelöscht werden. Hier wird nichts mehr aufgezeichnet; bitte versuchen Sie es noch einmal.",
   "statement.how": "Bevor eine Antwort Ihr Gerät verlässt, entscheidet dort der Zufall, ob die Meldung Ihre Antwort nennt oder etwas anderes.",
   "evidence": "Eine einzelne Meldung ist ein starker Hinweis. Am meisten verrät die Frage panel: Wer vorher zwei Antworten für gleich wahrscheinlich hielt, schätzt nach einer Meldung die Chance für eine davon auf höchstens etwa 96 von 100.",
   "evidence.unknown": "Wie viel eine Meldung über Ihre Antwort sagt, hängt von der Frage ab, und die Definition mindestens einer Frage ist auf diesem Gerät nicht mehr vorhanden."
  },
  "en": {
   "number.decimal": ".",
   "number.thousands": ",",
   "number.date": "{year}-{month}-{day}",
   "consent.wants": "{app} would like to report your answers to these questions:",
   "consent.change": "You can change your mind at any time.",
   "consent.reveals": "What a year of answers can reveal",
   "consent.may": "Do you agree?",
   "consent.yes": "yes",
   "consent.no": "no",
   "consent.more": "more",
   "consent.on": "Telemetry is on. You agreed on {by}.",
   "consent.some": "Telemetry is on for some purposes: {purposes}. You agreed on {by}.",
   "consent.off": "Telemetry is off. You declined on {by}.",
   "consent.undecided": "Telemetry is off. You have not been asked yet.",
   "consent.variable_on": "Telemetry is on for this run, because {by} is 1.",
   "consent.suppressed": "Telemetry is suppressed for this run, because {by} is set.",
   "consent.machine": "Telemetry is suppressed on this computer, because {by} exists.",
   "consent.changed": "Since you agreed on {by}, {app} has raised a limit or sends its reports to another address. It reports nothing until you decide about these questions:",
   "consent.withheld": "Off until you agree: {metrics}.",
   "consent.stored": "Your choice is stored.",
   "consent.forgotten": "The data about your answers has been erased.",
   "consent.again": "You agreed to the questions of {app} on {by}. The unchanged questions continue, whatever you answer now. These questions are new or have changed:",
   "consent.sent": "The reports go to {host}.",
   "consent.type": "Please type one of these words.",
   "consent.variable_off": "Telemetry is suppressed for this run, because {by} is set to a value other than 1.",
   "consent.paused": "Telemetry is paused: since you agreed on {by}, the application has raised a limit or sends its reports to another address.",
   "reported.true": "true",
   "reported.false": "false",
   "reported.nothing": "nothing recorded",
   "reported.padding": "nothing more",
   "reported.or": "{first} or {last}",
   "reported.or_others": "{first} or others",
   "reported.range": "{low} to {high}",
   "reported.symbol": "symbol {symbol}",
   "reported.along": "along axis {axis} of random rotation {rotation}",
   "reported.against": "against axis {axis} of random rotation {rotation}",
   "reported.texts": "texts in {held} of {cells} cells, those of point {point} in group {group}",
   "reported.labeled": "{answer} with label {label}",
   "reported.feature": "{feature}: {answers}",
   "outcome.accepted": "accepted",
   "outcome.rejected": "rejected with its whole upload",
   "outcome.unknown_metric": "refused: the collector does not know the question",
   "outcome.unknown_edition": "refused: the collector does not know this version of the question",
   "outcome.former_edition": "refused: the collector no longer accepts this version of the question",
   "outcome.wrong_window": "refused: the question has another kind of period",
   "outcome.window_in_future": "refused: the period has not begun",
   "outcome.window_closed": "refused: the period is closed",
   "outcome.metric_expired": "refused: the question has ended",
   "outcome.symbol_out_of_range": "refused: not a possible report",
   "outcome.queue_full": "too many reports were waiting",
   "outcome.no_longer_asked": "no longer asked",
   "outcome.stopped": "stopped by the collector",
   "outcome.too_late": "too late",
   "outcome.unanswered": "no answer from the collector",
   "outcome.out_of_budget": "the limit was reached",
   "outcome.not_asked": "not this device's turn",
   "outcome.expired": "the question has ended",
   "outcome.busy": "the device was busy",
   "outcome.unavailable": "nothing could be stored",
   "outcome.first_window": "the storage is new",
   "history.caption": "What left this device",
   "history.window": "When",
   "history.metric": "Question",
   "history.reported": "What was reported",
   "history.outcome": "What became of it",
   "history.randomized": "Each report contains a randomized answer, which may differ from yours.",
   "history.nothing": "Nothing has left this device.",
   "history.forget": "Stop, and erase this list",
   "history.forgotten": "Erased. Nothing more is recorded.",
   "history.failed": "This could not be erased. Nothing more is recorded here; please try again.",
   "statement.how": "Your device randomizes every answer before it leaves: chance decides whether the report contains your answer or another one.",
   "evidence": "One report is strong evidence. The most revealing question is panel: if two answers seemed equally likely before, one report raises the chance of one of them to at most about 96 in 100.",
   "evidence.unknown": "How much one report reveals depends on its question, and the definition of at least one question is no longer on this device."
  }
 }
};

export default { ...registry, kinds: { "boolean": boolean, "category": category, "count": count, "cross": cross, "number": number, "ordinal": ordinal, "set": set }, mechanisms: { "balanced-design": balancedDesign, "cyclic-design": cyclicDesign, "exponential": exponential, "k-ary-randomized-response": kAryRandomizedResponse, "optimal-mean": optimalMean, "projective-geometry": projectiveGeometry, "randomized-response": randomizedResponse } };
