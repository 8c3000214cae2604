package extract

import "strings"

// Every sentence begins with a capital. The words below often begin one and are not names by themselves. They are
// part of a name only if there is more evidence than the beginning of a sentence (finder.isCommon).

// imperatives are verbs in the imperative and exclamations. A name next to one begins after it: Renew Netflix.
var imperatives = set(`accept adjust allow approve archive assign attach backup begin cancel choose collect compare confirm
connect convert count cut define deliver describe draft drop email escalate expand explain export fetch fill forget
gather import improve include invite join launch leave let limit listen load lock merge migrate notify pass pay pick
prepare prevent provide publish pull push reach rebuild recommend reduce refuse register reject rename renew repair
repeat replace reply reset resolve restart restore retry return revert rotate schedule sign skip solve sort split stay
submit subscribe suggest swap tag train transfer translate trust unlock validate verify welcome wrap discuss conduct
identify reflect establish engage maintain allocate implement utilize communicate evaluate determine incorporate
monitor integrate outline assess decide develop seek consult spend ensure oh ooh ah aw aww haha gosh ugh oof ouch yay
woah whoa well got reminds turns makes hang going doing woohoo phew gotcha gotta gonna wanna btw congrats cheers bye
cool glad awesome nice sounds appreciate guess bet heard feels plus anytime enjoy agree right excellent oops`)

// commonNouns are nouns and adverbs, most of them about work. Next to a capitalised word they are part of a name:
// Search Platform.
var commonNouns = set(`access account accounts actions agenda albums alert alerts although answers apps backups benchmarks
besides bills book breakfast budget bugs builds calls certificates checkout children clients clusters code comments
context costs data database deadline decisions details devices dinner email events example food friends fun goal goals
guests happy idea ideas images impact incident incidents inside invoice invoices items jobs kids key log logs lots
lunch mail marketing messages milestone music notes name overview subject date address objective orders outage overall
parents payment payments photo photos postmortem priorities priority problem problems process products progress
purpose quality queries quick reason recap reminder reports research results retro retrospective revenue risk risks
rules sales scope search security servers server service services sessions since standup status step steps best true
funny impressive busy perfect together storage stories strategy support symptom symptoms target task tasks tickets tip
tips topic topics traffic travel unless uploads usage warning warnings weather webhooks whether weeks years`)

// foreignFunctionWords are function words of the languages that the index knows, except for words that are names
// elsewhere, such as Ben, Al and Per.
var foreignFunctionWords = set(`el la los las lo un una unos unas del de pero es son en con por para sin sobre como cómo donde
dónde cuando cuándo quien quién que qué cual cuál se sus mi mis nuestro nuestra este esta estos estas ese esa eso esto
hay fue ha no además después si sí también desde hasta entre según durante aunque porque le les des du et ou où mais
est sont était je tu il elle nous vous ils elles mon mes notre ne pas avec pour dans chez sans comment quand qui quoi
quel quelle pourquoi au aux ce cet cette ces ses c'est selon après avant depuis pendant der die das den dem ein eine
einen einem einer und oder aber ist sind war waren wird werden wurde wurden haben hatte ich er sie wir ihr mein meine
sein seine unser nicht kein keine mit von vom zu zum zur auf aus bei beim nach für über unter vor wie wo wann wer
welche welcher welches warum im auch noch nur dass wenn weil nachdem seit während durch gegen dies diese dieser obwohl
het een maar zijn wordt worden werd heeft hebben ik jij hij zij ze wij onze niet geen met van naar uit bij voor hoe
waar wanneer waarom ook dat och eller är var blir har jag vi inte ingen av till på när vem vad vilken varför att som
ett det ja tai mutta ovat oli olivat ei minä sinä hän missä mistä milloin kuka mikä mitä miksi miten kuinka jos kun
veya ama için ile bir bu biz siz onlar ancak örneğin ayrıca bazı daha nerede kim nasıl neden hangi gli uno della dei
delle sono era hanno io lui noi nostro nostra non nel nella nei quando chi che quale perché alla os um uma do da dos
mas eu ele ela nós nosso nossa não com em onde quem ao foi tem são depois antes segundo во на но он она они мы вы это
этот эта как где когда кто что почему со по для из от до при после если не однако например некоторые эти`)

// nameParticles may begin a name: El Paso, Le Mans, De Niro.
var nameParticles = set("el la los las lo le les de del da do dos das du des den il van von")

var germanArticles = set("der die das ein eine")

// nameAdjectives may begin a name: New York, Great Britain.
var nameAdjectives = set("new great old long good red")

// objectWords follow a verb, but rarely a name that begins a sentence.
var objectWords = set("the a an our my your all you i we they he she it")

// afterPast are words that follow a verb in the past tense: Decided to, Renamed from.
var afterPast = set("the a an our all to that on against for until with from by into")

// pluralVerbs are verb forms that follow a plural noun.
var pluralVerbs = set("are were have aren't weren't haven't")

// isOrdinaryWord reports whether a word in lower case is no name by itself.
func isOrdinaryWord(low string) bool {
	return starters[low] || imperatives[low] || commonNouns[low] || foreignFunctionWords[low] ||
		hasVerbEnding(low, "ing", "ings", "tion", "tions", "sion", "sions", "ly", "ment", "ments")
}

// namesWithVerbEndings are names that end like ordinary words.
var namesWithVerbEndings = set("beijing nanjing fleming sterling irving beverly kimberly sicily clement")

// hasVerbEnding reports whether a word of six bytes or more has one of the endings and is not a known name.
func hasVerbEnding(low string, endings ...string) bool {
	for _, e := range endings {
		if len(low) >= 6 && strings.HasSuffix(low, e) {
			return !namesWithVerbEndings[low]
		}
	}
	return false
}
