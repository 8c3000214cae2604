package text

import "strings"

// irregular leads the forms of English verbs that stemming does not bring together to one of them. Forms that are as
// often another word (left, found, saw, felt, rose, lay, bound, wound) stay as they are, and so do the verbs that go
// with anything and say little by themselves (get, go, make, take, know): bringing their forms together only makes
// them weigh less, and match more.
var irregular = func() map[string]string {
	m := make(map[string]string)
	for line := range strings.SplitSeq(`arise arose arisen|awake awoke awoken|beat beaten|bend bent|bite bit bitten|bleed bled|
		blow blew blown|break broke broken|breed bred|build built|buy bought|catch caught|choose chose chosen|creep crept|
		deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|fight fought|flee fled|
		fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|
		grow grew grown|hang hung|hear heard|hide hid hidden|kneel knelt|learn learnt|lend lent|
		lose lost|meet met|pay paid|ride rode ridden|ring rang rung|rise risen|seek sought|sell sold|send sent|
		shake shook shaken|shine shone|shoot shot|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|
		spend spent|spin spun|steal stole stolen|stick stuck|sting stung|strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|
		teach taught|tear tore torn|throw threw thrown|wake woke woken|wear wore worn|weep wept|win won|write wrote written`, "|") {
		forms := strings.Fields(line)
		for _, f := range forms[1:] {
			m[f] = forms[0]
		}
	}
	return m
}()
