package tracecontext

import (
	"strings"
	"testing"
)

const valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		parent  string
		ok      bool
		sampled bool
	}{
		"version 00":              {valid, true, true},
		"not sampled":             {valid[:53] + "00", true, false},
		"further flags":           {valid[:53] + "ff", true, true},
		"later version":           {"cc" + valid[2:], true, true},
		"later version with more": {"cc" + valid[2:] + "-what-the-future-brings", true, true},
		"later version, no dash":  {"cc" + valid[2:] + ".what", false, false},
		"version 00 with more":    {valid + "-01", false, false},
		"version ff":              {"ff" + valid[2:], false, false},
		"empty":                   {"", false, false},
		"too short":               {valid[:54], false, false},
		"capital letters":         {strings.ToUpper(valid), false, false},
		"no digits":               {strings.Replace(valid, "4bf9", "4bg9", 1), false, false},
		"trace of zeros":          {"00-" + strings.Repeat("0", 32) + valid[35:], false, false},
		"span of zeros":           {valid[:36] + strings.Repeat("0", 16) + "-01", false, false},
		"other separators":        {strings.ReplaceAll(valid, "-", "_"), false, false},
		"spaces":                  {" " + valid, false, false},
	} {
		got, ok := Parse(c.parent, "a=b")
		if ok != c.ok || got.Sampled != c.sampled {
			t.Errorf("%s: %v, %+v", name, ok, got)
		}
		if ok && (got.Trace.String() != valid[3:35] || got.Span.String() != valid[36:52] || got.State != "a=b") {
			t.Errorf("%s: %+v", name, got)
		}
		if !ok && got != (Context{}) {
			t.Errorf("%s: an invalid parent leaves %+v", name, got)
		}
	}
}

func TestStateIsBounded(t *testing.T) {
	for state, kept := range map[string]string{
		"":                                    "",
		"rojo=00f067aa0ba902b7,congo=t61rcWk": "rojo=00f067aa0ba902b7,congo=t61rcWk",
		"ot=th:c;rv:1f,dd=s:2;o:rum;t.dm:-4":  "ot=th:c;rv:1f,dd=s:2;o:rum;t.dm:-4",
		"a=1, tenant@system=x y,\tb=<i>,c=2":  "a=1,c=2",
		"a='\"`$(){}[]|&?#%!\\^":              "",
		"a=1,,b=2":                            "a=1,b=2",
		"a":                                   "",
		"A=1":                                 "",
		"=1":                                  "",
		"a=":                                  "",
		"a=1=2":                               "",
		"a=1,b=\u202e":                        "",
		"a=1\n":                               "",
		"a=" + strings.Repeat("x", MaxState):  "",
		strings.Repeat("a=1,", maxMembers):    "",
	} {
		if c, ok := Parse(valid, state); !ok || c.State != kept {
			t.Errorf("%.40q: %v, kept %.40q", state, ok, c.State)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(valid, "a=b")
	f.Add("cc"+valid[2:]+"-x", "rojo=1,congo=2")
	f.Fuzz(func(t *testing.T, parent, state string) {
		c, ok := Parse(parent, state)
		if !ok && c != (Context{}) || ok && (!strings.Contains(parent, c.Trace.String()+"-"+c.Span.String()+"-") || len(c.State) > MaxState || !isPlain(strings.NewReplacer(",", "", "=", "").Replace(c.State))) {
			t.Errorf("%q, %q: %v, %+v", parent, state, ok, c)
		}
	})
}
