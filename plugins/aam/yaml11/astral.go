package yaml11

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Letters beyond the first 65,536, most of which are pictures, are written as they are by the system's own programs,
// and as escapes in double quotes by the library, which knows no better. So it is given others in their place, of those
// that are nobody's, and what it writes has the right ones again.

const firstPrivate, lastPrivate = '\ue000', '\uf8ff'

// standIns says which letter stands for which while the library writes.
type standIns struct{ in, out *strings.Replacer }

// newStandIns returns nil where there is nothing to stand in for.
func newStandIns(root *yaml.Node) *standIns {
	used := map[rune]bool{}
	eachText(root, func(text *string) {
		for _, c := range *text {
			if c > 0xffff || firstPrivate <= c && c <= lastPrivate {
				used[c] = true
			}
		}
	})
	var in, out []string
	next := firstPrivate
	for c := range used {
		if c <= 0xffff {
			continue
		}
		for used[next] {
			next++
		}
		if next > lastPrivate {
			break // the rest is written as escapes
		}
		in, out = append(in, string(c), string(next)), append(out, string(next), string(c))
		next++
	}
	if len(in) == 0 {
		return nil
	}
	return &standIns{strings.NewReplacer(in...), strings.NewReplacer(out...)}
}

// dump writes what stands in place of a document, which it leaves as it was.
func (s *standIns) dump(root *yaml.Node, width int) ([]byte, error) {
	replace := func(by *strings.Replacer) {
		eachText(root, func(text *string) { *text = by.Replace(*text) })
	}
	replace(s.in)
	defer replace(s.out)
	data, err := dumpPlain(root, width)
	if err != nil {
		return nil, err
	}
	return []byte(s.out.Replace(string(data))), nil
}

// eachText calls do for all texts in a document.
func eachText(n *yaml.Node, do func(*string)) {
	for _, text := range []*string{&n.Value, &n.HeadComment, &n.LineComment, &n.FootComment} {
		if *text != "" {
			do(text)
		}
	}
	for _, child := range n.Content {
		eachText(child, do)
	}
}
