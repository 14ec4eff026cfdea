package rawjson

import (
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
