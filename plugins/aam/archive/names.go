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

// maxName is the maximum length of a path element in bytes, as in most file systems.
const maxName = 255

// clean returns the shortest equivalent of a path. It does not resolve "..", which cleanMember refuses.
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

// cleanMember returns the clean path of a member, or an error if the path is not safe to extract.
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
	cleaned := clean(name)
	if depth := strings.Count(cleaned, "/") + 1; depth > limits.Depth {
		return "", fmt.Errorf("member %.100q is nested %d directories deep, at most %d are allowed", name, depth, limits.Depth)
	}
	return cleaned, nil
}

// isGit reports whether some file system treats the name as .git, because it ignores case or invisible characters or
// because the name is an 8.3 short name. The host refuses to write files of such names.
func isGit(name string) bool {
	visible := fold(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
	return visible == fold(".git") || visible == fold("git~1")
}

// tree is the set of all paths of an archive, including directories. It detects different paths that are equal on some
// file systems.
type tree struct {
	kind  map[string]kind   // by path
	spelt map[string]string // original path by folded path
}

type kind int

const (
	folder kind = iota + 1
	file
	link
)

func newTree() *tree { return &tree{kind: map[string]kind{}, spelt: map[string]string{}} }

// add adds a path and its parent directories. It is an error if one of them exists with another kind or spelling.
func (t *tree) add(name string, k kind) error {
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if t.kind[at] == folder {
			break // the directory and its parents were added before
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

// fold normalizes case and Unicode form, which some file systems ignore.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, norm.NFC.String(name))
}
