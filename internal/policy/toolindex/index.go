// Package toolindex finds tools by words: BM25 over their names, titles, descriptions and parameters, in the variant for documents with
// several fields. It knows only the tools that New gets, so that neither results nor their order depend on any other tool.
package toolindex

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Tool is the text of a tool.
type Tool struct {
	Plugin                   string // what the plugin is for
	Name, Title, Description string
	Parameters               []Parameter
}

// Parameter is the text of a parameter of a tool.
type Parameter struct{ Name, Description string }

// field is a part of a tool's text.
type field int

const (
	names field = iota
	titles
	descriptions
	parameters
	parameterTexts
	plugins
	fields // their number
)

// weights says how much a word of each field counts.
var weights = [fields]float64{names: 4, titles: 3, descriptions: 2, parameters: 1, parameterTexts: 0.5, plugins: 0.5}

// Parameters of BM25: how soon repetitions of a word cease to count, how much the length of a field counts, and what a word counts that all
// tools have. The last one is not 0: among few short texts, a word can be rare by accident.
const (
	saturation = 1.2
	shortening = 0.6
	ofCommon   = 1
)

// coverage is the power of the share of a query's words that a tool has, by which its score is multiplied: a tool that has a little of all words
// is better than one that has much of a single word.
const coverage = 0.5

// Bounds of a query, and the share that a word counts which a tool has only as a part.
const (
	maxWords = 32
	minPart  = 3
	ofPart   = 0.5
)

// Index is an index of tools. It is immutable.
type Index struct {
	size     int
	postings map[string][]posting // by word
	words    []string             // sorted, so that sums do not depend on the order of a map
}

// posting is a tool that has a word.
type posting struct {
	tool  int
	count float64 // weighted, by field and length
	own   bool    // whether the word is not only that of the plugin
}

// New returns the index of tools.
func New(tools []Tool) *Index {
	x := &Index{size: len(tools), postings: map[string][]posting{}}
	counts := make([]map[string]*[fields]float64, len(tools))
	lengths, total := make([][fields]float64, len(tools)), [fields]float64{}
	for i, t := range tools {
		counts[i] = map[string]*[fields]float64{}
		t.each(func(f field, word string) {
			if counts[i][word] == nil {
				counts[i][word] = &[fields]float64{}
			}
			counts[i][word][f]++
			lengths[i][f]++
			total[f]++
		})
	}
	for i := range tools {
		for word, in := range counts[i] {
			sum, own := 0.0, false
			for f, n := range in {
				if n > 0 {
					own = own || field(f) != plugins
					average := total[f] / float64(len(tools))
					sum += weights[f] * n / (1 - shortening + shortening*lengths[i][f]/average)
				}
			}
			x.postings[word] = append(x.postings[word], posting{i, sum, own})
		}
	}
	for word := range x.postings {
		x.words = append(x.words, word)
	}
	slices.Sort(x.words)
	return x
}

// each calls add with each word of the tool.
func (t Tool) each(add func(f field, word string)) {
	for f, text := range [...]string{names: t.Name, titles: t.Title, descriptions: t.Description, plugins: t.Plugin} {
		words(text, func(word string) { add(field(f), word) })
	}
	for _, p := range t.Parameters {
		words(p.Name, func(word string) { add(parameters, word) })
		words(p.Description, func(word string) { add(parameterTexts, word) })
	}
}

// Search returns the numbers of at most limit tools that have words of a query, the best first. Equally good ones have the order of New.
func (x *Index) Search(query string, limit int) []int {
	var asked []string
	words(query, func(word string) {
		if len(asked) < maxWords && !slices.Contains(asked, word) {
			asked = append(asked, word)
		}
	})
	scores, matched := map[int]float64{}, map[int]float64{}
	for _, word := range asked {
		for i, score := range x.scores(word) {
			scores[i] += score
			matched[i]++
		}
	}
	for i := range scores {
		scores[i] *= math.Pow(matched[i]/float64(len(asked)), coverage)
	}
	found := make([]int, 0, len(scores))
	for i := range scores {
		found = append(found, i)
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return found[:min(limit, len(found))]
}

// scores returns what a word of the query counts for the tools that have it, or else words that are similar.
func (x *Index) scores(word string) map[int]float64 {
	scores := map[int]float64{}
	if found := x.postings[word]; found != nil {
		x.score(scores, found, 1)
		return scores
	}
	for _, similar := range x.words {
		if isPart(word, similar) || isPart(similar, word) {
			x.score(scores, x.postings[similar], ofPart)
		}
	}
	return scores
}

// score adds what a word counts to the scores of the tools that have it.
func (x *Index) score(scores map[int]float64, found []posting, share float64) {
	n := 0.0
	for _, p := range found {
		if p.own {
			n++
		}
	}
	rarity := ofCommon + math.Log(1+(float64(x.size)-n+0.5)/(n+0.5))
	for _, p := range found {
		scores[p.tool] += share * rarity * p.count * (saturation + 1) / (p.count + saturation)
	}
}

// isPart reports whether a word is likely a part of a longer one: auth of authenticate, web of website, grep of ripgrep. The end of a word
// must be longer than its beginning, since short endings are those of many words.
func isPart(part, word string) bool {
	return len(part) >= minPart && strings.HasPrefix(word, part) || len(part) > minPart && strings.HasSuffix(word, part)
}
