package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range append([]string{
		strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting),
		strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1),
		strings.Repeat(`{"a":`, maxNesting) + "1" + strings.Repeat("}", maxNesting),
		strings.Repeat(`{"a":`, maxNesting+1) + "1" + strings.Repeat("}", maxNesting+1),
	}, scannerSeeds...) {
		if got, want := Valid([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("Valid(%.80q) = %t, want %t", text, got, want)
		}
	}
}

var scannerSeeds = []string{
	"", " ", "{}", "[]", " [ ] ", "[1,]", "[,1]", "[1 2]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{\"a\":}", "{\"a\":1", "[1", "]", "1]",
	"0", "-0", "01", "-", "-a", "1.", ".5", "1.5e", "1e+", "1E-7", "1e5.5", "+1", "0x1", "123456789012345678901234567890",
	"true", "tru", "truex", "nul", "null ", "false", "fals e", "True",
	`""`, `"`, `"a`, `"\`, `"\"`, `"\\"`, `"\u12"`, `"\u12G4"`, `"\u12aF"`, `"\x"`, `"\/\b\f\n\r\t"`, "\"a\tb\"", "\"1234567\x00\"", "\"12345678\x1f\"",
	"\"\x7f\u0080\u00e4\U0001F600\"", "\"\xff\xfe\"", "\x00", "\"a\"\x00", "1\x00", "\ufeff{}",
	`{"a":{"b":[1,"}",{"c":null}]},"c":"\\\""}`, `{"a":1}{"b":2}`, `{"a":1} x`, `{"long key beyond eight":"long value, beyond eight"}`,
}

// FuzzScanner checks that Scanner agrees with encoding/json about validity, and with Members about the members.
func FuzzScanner(f *testing.F) {
	for _, seed := range scannerSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		valid := json.Valid(text)
		if Valid(text) != valid {
			t.Fatalf("Valid(%q) = %t, want %t", text, !valid, valid)
		}
		type pair struct{ Key, Value string }
		var got, want []pair
		s := NewScanner(text)
		s.Object(func(key []byte) {
			name := string(key)
			if len(got)%3 == 2 {
				s.Array(func(int) { s.Object(func([]byte) {}) }) // has the same effect as Value
				got = append(got, pair{Key: name})
				return
			}
			got = append(got, pair{name, string(s.Value())})
		})
		if s.End() != valid {
			t.Fatalf("End of %q = %t, want %t", text, !valid, valid)
		}
		if !valid {
			return
		}
		for key, value := range Members(text) {
			if len(want)%3 == 2 {
				value = nil
			}
			want = append(want, pair{key, string(value)})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("members of %s (-want +got):\n%s", text, diff)
		}
	})
}

func TestScannerSkipsValuesThatAreNotTaken(t *testing.T) {
	s := NewScanner([]byte(` {"a": {"x":[1]} , "b": {"c":"d","e":2}, "f":3 } `))
	var keys []string
	var inner string
	whole := s.Object(func(key []byte) {
		keys = append(keys, string(key))
		if string(key) == "b" {
			s.Object(func(key []byte) {
				if string(key) == "c" {
					inner = string(s.Value())
				}
			})
		}
	})
	if !s.End() || inner != `"d"` || strings.Join(keys, "") != "abf" || !strings.HasSuffix(string(whole), `3 }`) {
		t.Errorf("keys %q, c is %s, the whole is %s", keys, inner, whole)
	}
}

func TestArrayCallsForEachElement(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "", ` [ ] `: "", `[ 1 , {"a":2}, [3,[4]], "]" ]`: `0=1 1={"a":2} 2=[3,[4]] 3="]" `, `{"a":[1]}`: "", `7`: "",
		`[1,]`: "invalid", `[1 2]`: "invalid", `[1`: "invalid", `[`: "invalid", `[}`: "invalid",
	} {
		for _, takes := range []bool{true, false} { // whether element consumes the elements
			got := ""
			s := NewScanner([]byte(text))
			s.Array(func(i int) {
				if takes {
					got += fmt.Sprintf("%d=%s ", i, s.Value())
				}
			})
			if !s.End() {
				got = "invalid"
			}
			if got != want && (takes || want == "invalid") {
				t.Errorf("%s: got %q, want %q", text, got, want)
			}
		}
	}
	s := NewScanner([]byte(` [[1, 2] , [ 3 ] ]`))
	sum := 0
	array := s.Array(func(int) {
		s.Array(func(int) { sum += len(s.Value()) })
	})
	if !s.End() || sum != 3 || string(array) != "[[1, 2] , [ 3 ] ]" {
		t.Errorf("nested arrays: %d elements, %s", sum, array)
	}
}

func BenchmarkValid(b *testing.B) {
	for name, text := range map[string]string{
		"string":  `"` + strings.Repeat("x", 10_000) + `"`,
		"escapes": `"` + strings.Repeat(`a line\n\tand \"another\"`, 400) + `"`,
		"objects": "[" + strings.Repeat(`{"name":"a","n":12,"ok":true},`, 330) + "null]",
	} {
		for by, valid := range map[string]func([]byte) bool{"Scanner": Valid, "encoding-json": json.Valid} {
			b.Run(name+"/"+by, func(b *testing.B) {
				data := []byte(text)
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if !valid(data) {
						b.Fatal("invalid")
					}
				}
			})
		}
	}
}

func TestLimitNestingReadsDeeperTextToItsEnd(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[[1]],"b":2}`:           "",
		`{"a":[[[1]]],"b":2}`:         "it is nested more than 3 deep",
		`{"a":{"a":{"a":{}}},"b":2}`:  "it is nested more than 3 deep",
		`{"a":[[[1]]],"b":2`:          "", // not JSON
		`{"a":[[1e5]],"b":1e999}`:     "it has a number that exceeds the range of 64-bit floats",
		`{"a":[[[1e999]]],"b":2}`:     "it is nested more than 3 deep",
		`{"a":"[[[[[[\\","b":1E-999}`: "",
	} {
		s := NewScanner([]byte(text))
		s.LimitNesting(3)
		s.RefuseInfinite()
		last := ""
		s.Object(func(key []byte) { last = string(key) })
		if valid := json.Valid([]byte(text)); s.End() != (valid && want == "") || s.Refusal() != want || last != "b" {
			t.Errorf("%s: End is %t, Refusal is %q, want %q; the last member is %q", text, s.End(), s.Refusal(), want, last)
		}
	}
}

// FuzzReplaceUnpaired checks that the replacement does not change what encoding/json decodes, which replaces unpaired surrogates too.
func FuzzReplaceUnpaired(f *testing.F) {
	for _, seed := range []string{`"\ud83d"`, `{"\uDE00":"\ud83d\ud83d\uDe00\\ud83d\n"}`, `["\ud83d\u0041"]`, `"\ud83d\n\ude00"`, `"\u1234"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var before, after any
		if json.Unmarshal(text, &before) != nil {
			return
		}
		s := NewScanner(text)
		s.Value()
		replaced := bytes.Clone(text)
		ReplaceUnpaired(replaced)
		if s.HasUnpaired() == bytes.Equal(text, replaced) {
			t.Errorf("HasUnpaired of %s is %t, and ReplaceUnpaired made %s", text, s.HasUnpaired(), replaced)
		}
		s = NewScanner(replaced)
		if s.Value(); !s.End() || s.HasUnpaired() {
			t.Errorf("%s became %s", text, replaced)
		}
		if err := json.Unmarshal(replaced, &after); err != nil || !cmp.Equal(before, after) {
			t.Errorf("%s became %s: %v", text, replaced, err)
		}
	})
}
