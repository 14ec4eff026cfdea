package revocation

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

var sum, other = strings.Repeat("ab", 32), strings.Repeat("cd", 32)

// list returns a list with further lines.
func list(more string) string {
	return "revocations = 1\nserial = 7\nexpires = \"2027-01-31\"\n" + more
}

func entry(digest, reason string) string {
	return fmt.Sprintf("[[revoked]]\nsha256 = %q\nreason = %s\n", digest, reason)
}

func parse(t *testing.T, text string) *List {
	t.Helper()
	l, err := Parse("list.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestParse(t *testing.T) {
	l := parse(t, list(entry(sum, `"sends notes elsewhere"`)+"plugin = \"notes 1.2.0\"\n"+entry(strings.ToUpper(other), `"x"`)))
	if l.Serial != 7 || l.LastDay() != "2027-01-31" || l.Expires.Format("2006-01-02T15:04:05Z07:00") != "2027-02-01T00:00:00Z" {
		t.Errorf("got %+v", l)
	}
	for digests, want := range map[[2]string]string{{sum, ""}: "sends notes elsewhere", {"", other}: "x", {other, sum}: "x", {"", ""}: "", {sum[1:], "x"}: ""} {
		if reason, revoked := l.Reason(digests[:]...); reason != want || revoked != (want != "") {
			t.Errorf("%q: got %q, %t", digests, reason, revoked)
		}
	}
	if serial, err := Serial([]byte(list(""))); err != nil || serial != 7 {
		t.Errorf("Serial returned %d, %v", serial, err)
	}
}

func TestParseRefuses(t *testing.T) {
	many := strings.Builder{}
	for i := range MaxRevoked + 1 {
		many.WriteString(entry(fmt.Sprintf("%064x", i), `"x"`))
	}
	for text, want := range map[string]string{
		"":                      "revocations: is not 1",
		"=":                     "is not TOML",
		"catalogue = 1\n":       "catalogue: is not a known key",
		"revocations = 2\n":     "revocations: is not 1",
		list("x = 1\n"):         "x: is not a known key",
		list("revoked = [1]\n"): "revoked[0]: is an integer",
		strings.Replace(list(""), "serial = 7", "", 1):                      "serial: is missing",
		strings.Replace(list(""), "7", "0", 1):                              "serial: is missing or less than 1",
		strings.Replace(list(""), "7", "-7", 1):                             "serial: is missing or less than 1",
		strings.Replace(list(""), "7", "9223372036854775807", 1):            "serial: is missing or less than 1",
		strings.Replace(list(""), "7", "'7'", 1):                            "serial",
		strings.Replace(list(""), "2027-01-31", "2027-02-31", 1):            "list.toml:3: expires: is not a day",
		strings.Replace(list(""), "2027-01-31", "never", 1):                 "expires: is not a day",
		strings.Replace(list(""), `expires = "2027-01-31"`, "", 1):          "expires: is missing",
		list("[[revoked]]\nreason = 'x'\n"):                                 "list.toml:4: revoked[0].sha256: is missing",
		list(entry("12", `"x"`)):                                            "revoked[0].sha256: is not a SHA-256",
		list("[[revoked]]\nsha256 = '" + sum + "'\n"):                       "revoked[0].reason: is missing",
		list(entry(sum, `""`)):                                              "revoked[0].reason: is",
		list(entry(sum, `"x"`) + entry(sum, `"y"`)):                         "revoked[1].sha256: is a duplicate",
		list(many.String()):                                                 "revoked: has more than 5000 entries",
		list(entry(sum, `"`+strings.Repeat("x", 1<<20)+`"`)):                "larger than",
		list(entry(sum, `"x"`) + "[revoked.more]\n"):                        "revoked[0].more: is not a known key",
		list(entry(sum, "\"\\ud800\"")):                                     "is not TOML",
		list("[[revoked]]\nsha256 = '" + sum + "'\nreason = 'x'\nno = 1\n"): "revoked[0].no: is not a known key",
	} {
		l, err := Parse("list.toml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, %v; want %s", text, l, err, want)
		}
	}
}

// TestReasonCannotHideOrControl has reasons that the holder of the key wrote, and that terminals and models read.
func TestReasonCannotHideOrControl(t *testing.T) {
	for text, want := range map[string]string{
		`"a\u001b[31mb"`:                      "a·[31mb",
		`"a\nb\tc\r\n  d"`:                    "a b c d",
		`"a\u202eb\u200bc"`:                   "a·b·c",
		`"a\u0000b"`:                          "a·b",
		`"` + strings.Repeat("x", 1000) + `"`: strings.Repeat("x", MaxReason) + "…",
		`"` + strings.Repeat("é", 200) + `"`:  strings.Repeat("é", MaxReason/2) + "…",
	} {
		got, revoked := parse(t, list(entry(sum, text))).Reason(sum)
		if !revoked || got != want {
			t.Errorf("%.60s: got %q, want %q", text, got, want)
		}
	}
}

func TestEncodedListIsParsedAgain(t *testing.T) {
	l := parse(t, list(entry(sum, `"x"`)))
	next := l.With(Revoked{SHA256: other, Plugin: "notes 1.2.0", Reason: `says "x"`}).With(Revoked{SHA256: sum, Reason: "y"})
	next.Serial++
	again := parse(t, string(next.Encode()))
	want := &List{Serial: 8, Expires: l.Expires, Revoked: []Revoked{{SHA256: other, Plugin: "notes 1.2.0", Reason: `says "x"`}, {SHA256: sum, Reason: "y"}}}
	if diff := cmp.Diff(want, again, cmpopts.IgnoreUnexported(List{})); diff != "" {
		t.Error(diff)
	}
	if len(l.Revoked) != 1 || l.Revoked[0].Reason != "x" {
		t.Errorf("With has changed the list: %+v", l)
	}
	if !bytes.Equal(again.Encode(), next.Encode()) {
		t.Errorf("it is encoded differently:\n%s\n%s", next.Encode(), again.Encode())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(list(entry(sum, `"x\u001b"`) + entry(other, `"y"`))))
	f.Add([]byte("revocations = 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse("list.toml", data)
		if err != nil {
			return
		}
		if l.Serial < 1 || len(l.Revoked) > MaxRevoked {
			t.Errorf("got %d entries of serial %d", len(l.Revoked), l.Serial)
		}
		for _, r := range l.Revoked {
			if reason, revoked := l.Reason(r.SHA256); !revoked || reason != r.Reason || len(reason) > 3*MaxReason || !utf8.ValidString(reason) || !visible.Only(reason) {
				t.Errorf("the reason of %s is %q, %t", r.SHA256, reason, revoked)
			}
		}
		again, err := Parse("list.toml", l.Encode())
		if err != nil || len(again.Revoked) != len(l.Revoked) || again.Serial != l.Serial || !again.Expires.Equal(l.Expires) {
			t.Errorf("encoded again: %+v, %v", again, err)
		}
	})
}
