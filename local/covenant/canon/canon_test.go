package canon

import "testing"

func TestCanonicalForms(t *testing.T) {
	for in, want := range map[string]string{
		`{ }`:                               `{}`,
		`{"version":1,"tiers":["working"]}`: `{"tiers":["working"],"version":1}`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5}`:      "{\"\\r\":2,\"1\":4,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		`[56.0, 1e21, 1E-7, 0.000001, -0, 4.50, 333333333.33333329]`: `[56,1e+21,1e-7,0.000001,0,4.5,333333333.3333333]`,
		`"\u0001\u000a<>&\u2028"`:                                    "\"\\u0001\\n<>&\u2028\"",
		`[true, false, null]`:                                        `[true,false,null]`,
	} {
		got, err := JSON([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", in, got, err, want)
		}
	}
	for _, bad := range []string{``, `{`, `{} {}`, `01`, `1e999`} {
		if got, err := JSON([]byte(bad)); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
}
