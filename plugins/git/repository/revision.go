package repository

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const maxSteps = 100_000 // most steps of a revision such as HEAD~3

// RequestError is the error for an invalid request, such as a revision that names no object. It has the words of the original server.
type RequestError struct{ text string }

func (e *RequestError) Error() string { return e.text }

// Refuse returns a RequestError.
func Refuse(format string, values ...any) error {
	return &RequestError{fmt.Sprintf(format, values...)}
}

func badName(text string) error { return Refuse("Ref '%s' did not resolve to an object", text) }

// Resolve returns the object that a revision names. A revision is the name of a reference or a hash, followed by any number of ^N, ~N and
// ^{TYPE}, and possibly by ":" and a path.
func (r *Repository) Resolve(revision string) (Object, error) {
	var none Object
	if strings.HasPrefix(revision, ":") || strings.Contains(revision, "@{") {
		return none, Refuse("%s: revisions that search the index, the reflog or messages are not supported: give a branch, a tag or a hash", revision)
	}
	base := revision
	at := strings.IndexAny(revision, "^~:")
	if at == 0 {
		return none, Refuse("Revision specifier must start with an object name: %s", revision)
	}
	rest := ""
	if at > 0 {
		base, rest = revision[:at], revision[at:]
	}
	object, err := r.named(base)
	for err == nil && rest != "" {
		switch {
		case rest[0] == ':':
			return r.path(object, rest[1:])
		case rest[0] != '^' && rest[0] != '~':
			return none, Refuse("Invalid token: '%c'", rest[0])
		case strings.HasPrefix(rest, "^{"):
			kind, after, ok := strings.Cut(rest[2:], "}")
			if !ok {
				return none, Refuse("Missing closing brace to define type in %s", revision)
			}
			object, err = r.peel(object, kind)
			rest = after
		default:
			token := rest[0]
			digits := rest[1:]
			if end := strings.IndexFunc(digits, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
				digits = digits[:end]
			}
			rest = rest[1+len(digits):]
			count := 1
			if digits != "" {
				if count, err = strconv.Atoi(digits); err != nil || count > maxSteps {
					return none, Refuse("%s: the number of steps exceeds %d", revision, maxSteps)
				}
			}
			object, err = r.step(object, token, count, revision)
		}
	}
	return object, err
}

// named returns the object of a reference or hash.
func (r *Repository) named(name string) (Object, error) {
	if name == "@" {
		name = "HEAD"
	}
	hash, err := r.host.Resolve(r.TopLevel, name)
	if err != nil {
		return Object{}, err
	}
	if hash == "" {
		return Object{}, badName(name)
	}
	return r.Object(hash)
}

// peel follows annotated tags, and commits to their trees, until it finds an object of a type. Without a type it follows only tags.
func (r *Repository) peel(o Object, kind string) (Object, error) {
	for range 8 {
		next := ""
		switch {
		case o.Type == kind || kind == "object" || kind == "" && o.Type != "tag":
			return o, nil
		case o.Type == "tag":
			line, _, _ := strings.Cut(string(o.Content), "\n")
			next = strings.TrimPrefix(line, "object ")
		case o.Type == "commit" && kind == "tree":
			c, err := ParseCommit(o.Hash, o.Content)
			if err != nil {
				return o, err
			}
			next = c.Tree
		default:
			return o, Refuse("Could not accommodate requested object type '%s', got %s", kind, o.Type)
		}
		var err error
		if o, err = r.Object(next); err != nil {
			return o, err
		}
	}
	return o, Refuse("the tag is the start of a chain of more than 8 tags")
}

// PeelCommit returns the commit that an object is, or to which a tag leads.
func (r *Repository) PeelCommit(o Object) (Commit, error) {
	o, err := r.peel(o, "commit")
	if err != nil {
		return Commit{}, err
	}
	return ParseCommit(o.Hash, o.Content)
}

// step follows the first parent count times, or the parent with a number once.
func (r *Repository) step(o Object, token byte, count int, revision string) (Object, error) {
	c, err := r.PeelCommit(o)
	if err != nil {
		return o, err
	}
	steps, parent := count, 0
	if token == '^' {
		steps, parent = min(count, 1), count-1
	}
	for range steps {
		if parent >= len(c.Parents) {
			return o, badName(fmt.Sprintf("Invalid revision spec '%s' - not enough parent commits to reach '%c%d'", revision, token, count))
		}
		if c, err = r.ReadCommit(c.Parents[parent]); err != nil {
			return o, err
		}
	}
	return r.Object(c.Hash)
}

// path returns the object at a path of a tree, or of a commit's tree.
func (r *Repository) path(o Object, name string) (Object, error) {
	o, err := r.peel(o, "tree")
	if name == "" || err != nil {
		return o, err
	}
	for part := range strings.SplitSeq(name, "/") {
		missing := Refuse(`"Blob or Tree named '%s' not found"`, part)
		if o.Type != "tree" {
			return o, missing
		}
		entries, err := ParseTree(o.Content)
		if err != nil {
			return o, err
		}
		i := slices.IndexFunc(entries, func(e TreeEntry) bool { return e.Name == part })
		if i < 0 {
			return o, missing
		}
		if o, err = r.Object(entries[i].Hash); err != nil {
			return o, err
		}
		switch {
		case o.Type == "" && entries[i].Mode == "160000":
			return o, Refuse("%s: a submodule: its commits are in its own repository", name)
		case o.Type == "":
			return o, fmt.Errorf("%s: %s is missing from the repository", name, entries[i].Hash)
		}
	}
	return o, nil
}
