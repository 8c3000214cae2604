package text

import "strings"

// irregular leads the forms of English verbs and nouns that stemming does not bring together to one of them. Forms
// that are as often another word (left, found, saw, felt, rose, lay, bound, wound) stay as they are. So do the verbs
// that go with anything and say little by themselves (get, go, make, take, know), and nouns whose plural is as
// frequent (child, woman, analysis): bringing their forms together only makes them weigh less, and match more.
var irregular = func() map[string]string {
	m := make(map[string]string)
	for line := range strings.SplitSeq(`arise arose arisen|awake awoke awoken|beat beaten|bend bent|bite bit bitten|bleed bled|
		blow blew blown|break broke broken|breed bred|build built|buy bought|catch caught|choose chose chosen|creep crept|
		deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|fight fought|flee fled|
		fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|
		grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|kneel knelt|learn learnt|lend lent|
		lose lost|meet met|pay paid|ride rode ridden|ring rang rung|rise risen|seek sought|sell sold|send sent|
		shake shook shaken|shine shone|shoot shot|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|
		spend spent|spin spun|steal stole stolen|stick stuck|sting stung|strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|
		teach taught|tear tore torn|throw threw thrown|wake woke woken|wear wore worn|weep wept|win won|write wrote written|
		foot feet|goose geese|index indices|knife knives|matrix matrices|mouse mice|shelf shelves|tooth teeth|vertex vertices|wife wives`, "|") {
		forms := strings.Fields(line)
		for _, f := range forms[1:] {
			m[f] = forms[0]
		}
	}
	for verb := range strings.FieldsSeq(`apologis authoris categoris customis emphasis finalis generalis initialis localis maximis memoris minimis modernis
		normalis optimis organis parallelis prioritis randomis realis recognis serialis specialis stabilis standardis summaris synchronis
		tokenis utilis vectoris visualis`) { // British, next to the American spelling with a z
		for _, ending := range [...]string{"e", "ed", "es", "er", "ers", "ing", "ation", "ations"} {
			m[verb+ending] = strings.TrimSuffix(verb, "s") + "z" + ending
		}
	}
	return m
}()

// british holds the beginnings of words that British English spells with our, and American English with or.
var british = strings.Fields("behaviour colour endeavour favour flavour harbour honour humour labour neighbour rumour")

// american returns a word in the American spelling: colourful as colorful.
func american(word string) string {
	for _, w := range british {
		if rest, ok := strings.CutPrefix(word, w); ok {
			return strings.TrimSuffix(w, "ur") + "r" + rest
		}
	}
	return word
}
