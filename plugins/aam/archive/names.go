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

// maxName is the maximum length of a path element in bytes. Most file systems have this limit.
const maxName = 255

// cleanMember returns the clean path of a tar member. It returns an error if the path is not safe to extract.
func cleanMember(name string, limits Limits) (string, error) {
	switch {
	case name == "":
		return "", errors.New("a member has an empty name")
	case len(name) > limits.Path:
		return "", fmt.Errorf("member %.60q… has a path of %d bytes, at most %d are allowed", name, len(name), limits.Path)
	case !utf8.ValidString(name):
		return "", fmt.Errorf("member %.100q: the name is not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", fmt.Errorf("member %.100q: the name has control characters", name)
	case strings.HasPrefix(name, "/"):
		return "", fmt.Errorf("member %.100q: the path is absolute", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("member %.100q: the path has the element '..'", name)
		}
		if isGit(part) {
			return "", fmt.Errorf("member %.100q: the path has the element .git, or an element that some file systems treat as .git: rename or remove it", name)
		}
		if len(part) > maxName {
			return "", fmt.Errorf("member %.100q: a path element has %d bytes, at most %d are allowed", name, len(part), maxName)
		}
	}
	cleaned := path.Clean(name)
	if depth := strings.Count(cleaned, "/") + 1; depth > limits.Depth {
		return "", fmt.Errorf("member %.100q is nested %d directories deep, at most %d are allowed", name, depth, limits.Depth)
	}
	return cleaned, nil
}

// isGit reports whether some file system treats the name as .git, because the file system ignores case or invisible
// characters, or because the name is an 8.3 short name. The host refuses to write files with such names.
func isGit(name string) bool {
	visible := fold(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
	return visible == fold(".git") || visible == fold("git~1")
}

// tree is the set of all paths in an archive, including those of directories. It detects different paths that some file
// systems treat as equal.
type tree struct {
	kind  map[string]kind   // the kind of each path
	spelt map[string]string // the original spelling of each path; the key is the folded path
}

type kind int

const (
	folder kind = iota + 1
	file
	link
)

func newTree() *tree { return &tree{kind: map[string]kind{}, spelt: map[string]string{}} }

// add adds a path and the paths of its parent directories. It returns an error if one of these paths is already in the
// tree with another kind or another spelling.
func (t *tree) add(name string, k kind) error {
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if t.kind[at] == folder {
			break // an earlier call has added the directory and its parents
		}
		if err := t.put(at, folder); err != nil {
			return err
		}
	}
	return t.put(name, k)
}

func (t *tree) put(name string, k kind) error {
	if has := t.kind[name]; has != 0 && has != k {
		return fmt.Errorf("member %.100q exists with two types (file, directory or link)", name)
	}
	folded := fold(name)
	if spelt, ok := t.spelt[folded]; ok && spelt != name {
		return fmt.Errorf("members %.100q and %.100q have the same path on some file systems", spelt, name)
	}
	t.kind[name], t.spelt[folded] = k, name
	return nil
}

// fold normalizes the case and the Unicode form of name, because some file systems ignore them.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, norm.NFC.String(name))
}
