package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// TestReadableTextIsThatOfReplacedServer compares the Markdown of pages that have the structure of typical ones with that of the server that
// the plugin replaces: of the words of its answer, at least 95 % are in the plugin's, and few others.
func TestReadableTextIsThatOfReplacedServer(t *testing.T) {
	const leastRecall, leastPrecision = 0.95, 0.9
	cases := readCases(t, "pages.jsonl", 50)
	lowestRecall, lowestPrecision := 1.0, 1.0
	for _, c := range cases {
		host, _ := newHost(t, c.Pages)
		result, err := host.CallTool("fetch", string(c.Requests[0].Arguments))
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(c.Requests[0].Result, &recorded); err != nil {
			t.Fatal(err)
		}
		want, got := words(recorded.Content[0].Text), words(result.Text())
		common := 0
		for word, n := range want.count {
			common += min(n, got.count[word])
		}
		recall, precision := float64(common)/float64(want.total), float64(common)/float64(got.total)
		lowestRecall, lowestPrecision = min(lowestRecall, recall), min(lowestPrecision, precision)
		if recall < leastRecall || precision < leastPrecision {
			t.Errorf("%s: recall %.3f, want at least %v; precision %.3f, want at least %v", c.Name, recall, leastRecall, precision, leastPrecision)
		}
	}
	t.Logf("%d pages: lowest recall %.4f, lowest precision %.4f", len(cases), lowestRecall, lowestPrecision)
}

type bag struct {
	count map[string]int
	total int
}

// words counts the words of a text: sequences of letters and digits. The escapes and marks of Markdown are none.
func words(text string) bag {
	b := bag{count: map[string]int{}}
	for word := range strings.FieldsFuncSeq(strings.ReplaceAll(text, `\`, ""), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		b.count[word]++
		b.total++
	}
	return b
}
