package visible

import "testing"

func TestNameQuotesInvisibleCharacters(t *testing.T) {
	for word, want := range map[string]string{
		"notes/größe_1.x-y":     "notes/größe_1.x-y",
		"notes\u3164":           `"notes\u3164"`,
		"notes\ufe0f \u2800":    `"notes\ufe0f \u2800"`,
		"notes\U000e0041\u202e": `"notes\U000e0041\u202e"`,
		"":                      `""`,
	} {
		if got := Name(word); got != want {
			t.Errorf("Name(%+q) is %s, want %s", word, got, want)
		}
	}
}
