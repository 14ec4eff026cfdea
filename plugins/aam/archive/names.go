package archive

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxName bounds one name in a path, as file systems do.
const maxName = 255

// clean makes a path the shortest that means the same. It takes no .. away: none is allowed.
func clean(name string) string {
	parts := strings.Split(name, "/")
	kept := parts[:0]
	for _, part := range parts {
		if part != "" && part != "." {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return "."
	}
	return strings.Join(kept, "/")
}

// cleanMember returns a member's path in clean form, or why it must not be used.
func cleanMember(name string, limits Limits) (string, error) {
	switch {
	case name == "":
		return "", errors.New("a member has no name")
	case len(name) > limits.Path:
		return "", fmt.Errorf("member %.60q… has a path of %d bytes, at most %d are allowed", name, len(name), limits.Path)
	case !utf8.ValidString(name):
		return "", fmt.Errorf("member %.100q: the name is not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", fmt.Errorf("member %.100q: the name has control characters in it", name)
	case strings.HasPrefix(name, "/"):
		return "", fmt.Errorf("member %.100q: the path is absolute", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("member %.100q: the path has '..' in it", name)
		}
		if isGit(part) {
			return "", fmt.Errorf("member %.100q is, or lies in, what some file system takes for a .git, which is nobody's to write", name)
		}
		if len(part) > maxName {
			return "", fmt.Errorf("member %.100q: a name in it has %d bytes, at most %d are allowed", name, len(part), maxName)
		}
	}
	cleaned := clean(name)
	if depth := strings.Count(cleaned, "/") + 1; depth > limits.Depth {
		return "", fmt.Errorf("member %.100q lies %d folders deep, at most %d are allowed", name, depth, limits.Depth)
	}
	return cleaned, nil
}

// isGit tells whether some file system finds a .git by that name: in any case, with letters in it that cannot be seen, or
// by the short name that it has beside its own. The host lets nobody write one.
func isGit(name string) bool {
	visible := fold(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
	return visible == fold(".git") || visible == fold("git~1")
}

// tree is all paths of an archive, folders too. It knows which of them some file systems take for the same.
type tree struct {
	kind  map[string]kind   // by path
	spelt map[string]string // by path without the differences that some file systems do not see
}

type kind int

const (
	folder kind = iota + 1
	file
	link
)

func newTree() *tree { return &tree{kind: map[string]kind{}, spelt: map[string]string{}} }

// add puts a path in, with the folders that it lies in, unless one of them is something else already.
func (t *tree) add(name string, k kind) error {
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if t.kind[at] == folder {
			break // so are those that it lies in
		}
		if err := t.put(at, folder); err != nil {
			return err
		}
	}
	return t.put(name, k)
}

func (t *tree) put(name string, k kind) error {
	if has := t.kind[name]; has != 0 && has != k {
		return fmt.Errorf("member %.100q is there as two different things", name)
	}
	folded := fold(name)
	if spelt, ok := t.spelt[folded]; ok && spelt != name {
		return fmt.Errorf("members %.100q and %.100q are the same on some file systems", spelt, name)
	}
	t.kind[name], t.spelt[folded] = k, name
	return nil
}

// fold takes away what some file systems do not see: case, and how a letter is put together.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, norm.NFC.String(name))
}
