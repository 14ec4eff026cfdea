package toolindex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord bounds a word, in bytes. The rest of a longer word is ignored.
const maxWord = 40

// words calls add with the stem of each word of text. Letters and digits are words; a capital letter after a small one begins a new word, as
// in listChanges. Characters of scripts that are written without spaces are words of their own.
func words(text string, add func(word string)) {
	start, before := -1, rune(0)
	end := func(at int) {
		if start < 0 {
			return
		}
		if word := strings.ToLower(bounded(text[start:at])); word != "" && !isCommon(word) {
			add(stem(word))
		}
		start = -1
	}
	for at, r := range text {
		isWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		single := isWord && r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
		if !isWord || single || unicode.IsUpper(r) && unicode.IsLower(before) {
			end(at)
		}
		switch before = r; {
		case single:
			add(string(r))
		case isWord && start < 0:
			start = at
		}
	}
	end(len(text))
}

func bounded(word string) string {
	if len(word) <= maxWord {
		return word
	}
	n := maxWord
	for !utf8.RuneStart(word[n]) {
		n--
	}
	return word[:n]
}

// suffixes are removed from words, the first that matches, so that forms of a word are equal: archive, archives, archived, archiving.
var suffixes = []struct{ end, by string }{
	{"ations", ""}, {"ation", ""}, {"ating", ""}, {"ates", ""}, {"ated", ""}, {"ate", ""}, {"ies", "y"}, {"sses", "ss"}, {"ings", ""}, {"ing", ""},
	{"ions", ""}, {"ion", ""}, {"ers", ""}, {"er", ""}, {"ed", ""}, {"es", ""}, {"ss", "ss"}, {"us", "us"}, {"s", ""}, {"e", ""},
}

// minStem is the number of bytes that must remain of a word.
const minStem = 3

// stem removes the suffix of an English word. It need not be a stem of the language: both the tools and the queries are stemmed.
func stem(word string) string {
	for _, s := range suffixes {
		root, ok := strings.CutSuffix(word, s.end)
		if !ok || len(root)+len(s.by) < minStem {
			continue
		}
		root += s.by
		if n := len(root); s.by == "" && n > minStem && root[n-1] == root[n-2] && !strings.ContainsRune("lsz", rune(root[n-1])) {
			root = root[:n-1] // planning, planned
		}
		return root
	}
	return word
}

// common are words that say nothing about a tool, sorted.
var common = []string{
	"a", "about", "all", "also", "am", "an", "and", "another", "any", "anything", "are", "as", "at", "be", "by", "can", "do", "does", "each",
	"everything", "for", "from", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "many", "me", "much", "my", "need", "not",
	"of", "on", "or", "our", "please", "should", "so", "some", "something", "that", "the", "their", "them", "there", "these", "they", "this",
	"those", "to", "tool", "tools", "use", "used", "using", "want", "was", "we", "were", "what", "when", "where", "which", "who", "whose",
	"why", "will", "with", "would", "you", "your",
}

func isCommon(word string) bool {
	_, found := slices.BinarySearch(common, word)
	return found
}
