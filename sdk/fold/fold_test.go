package fold_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/fold"
)

func TestLower(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"Rotate KEYS":          "rotate keys",
		"İstanbul":             "i\u0307stanbul",
		"ΟΔΟΣ":                 "οδος",
		"ΟΔΟΣ ΣΟΦΙΑΣ, ΣΣΣ":     "οδος σοφιας, σσς",
		"Σ":                    "σ",
		"'Σ'":                  "'σ'",
		"Α'Σ'.Α":               "α'σ'.α",
		"Α'Σ'. Α":              "α'ς'. α",
		"Α\u0301Σ\u0301":       "α\u0301ς\u0301",
		"ΑΣ1":                  "ας1",
		"ΑΣʰ":                  "αςʰ",
		"ΑΣʰΑ":                 "ασʰα",
		"ǅ ẞ Ω K Å":            "ǆ ß ω k å",
		"ʕΣ ʕ":                 "ʕσ ʕ", // ʕ is a letter without case since Unicode 16
		"\u1c89 Ɤ \ua7dc":      "\u1c8a ɤ ƛ",
		"\U00010d50\U00016ea0": "\U00010d70\U00016ebb",
		"\xff É":               "\ufffd é",
	} {
		if got := fold.Lower(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestLowerAgreesWithChantCLIOnEveryCharacter converts every character to lower case, alone and before and after a
// sigma. It compares a digest of the results with a recorded digest of the results of the chant CLI, whose standard
// library implements Unicode 17.
func TestLowerAgreesWithChantCLIOnEveryCharacter(t *testing.T) {
	testenv.NotShort(t, "compares every code point")
	const want = "d3bf98b20f65ff0c09fdcf4de6b17b2cfb12af95854c7a8527419c50811a3ccd"
	sum := sha256.New()
	out := bufio.NewWriter(sum)
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		for _, format := range []string{"%c", "αΣ%c", "αΣ%cα", "%cΣ", "α%cΣ"} {
			out.WriteString(fold.Lower(strings.Replace(format, "%c", string(r), 1)))
			out.WriteByte('\n')
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("got digest %s, want %s", got, want)
	}
}

func ExampleLower() {
	fmt.Println(fold.Lower("ΟΔΟΣ"), len([]rune(fold.Lower("İ"))))
	// Output: οδος 2
}
