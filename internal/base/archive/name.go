package archive

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ntfile"
)

// names are the names of an archive so far.
type names struct {
	count  int
	last   string
	folded map[string]string // by lower-case path: the path of a file, or with a trailing slash that of a directory
}

// add adds a name, which must be greater than the last one. It refuses names that are the same file on some system.
func (n *names) add(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if n.count++; n.count > MaxFiles {
		return fmt.Errorf("it has more than the %d files that an archive may have", MaxFiles)
	}
	switch {
	case name == n.last:
		return fmt.Errorf("%s is there twice", name)
	case name < n.last:
		return fmt.Errorf("%s follows %s: the files are not sorted by name", name, n.last)
	}
	n.last = name
	if n.folded == nil {
		n.folded = map[string]string{}
	}
	for at := range name {
		if name[at] == '/' {
			if err := n.claim(name[:at], name[:at+1]); err != nil {
				return err
			}
		}
	}
	return n.claim(name, name)
}

// claim reserves a path for a file or, with a trailing slash, a directory.
func (n *names) claim(path, as string) error {
	key := strings.ToLower(path)
	have, taken := n.folded[key]
	switch {
	case !taken:
		n.folded[key] = as
	case have == as && strings.HasSuffix(as, "/"):
	case strings.TrimSuffix(have, "/") == path:
		return fmt.Errorf("%s is both a file and a directory", path)
	default:
		return fmt.Errorf("%s and %s differ only in upper and lower case", strings.TrimSuffix(have, "/"), path)
	}
	return nil
}

// CheckName refuses names of files that are not safe on every system. Elements begin with a letter, a digit or an underscore.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a file has no name")
	case len(name) > maxName:
		return fmt.Errorf("%q has %d bytes; a name has at most %d", name, len(name), maxName)
	case name[0] == '/':
		return fmt.Errorf("%q is an absolute path", name)
	}
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case element == "" || element == "." || element == "..":
			return fmt.Errorf("%q has an empty element, or the element . or .., which leads elsewhere", name)
		case strings.ContainsFunc(element, func(r rune) bool { return !isLetterOrDigit(r) && !strings.ContainsRune("._-+", r) }):
			return fmt.Errorf("%q has characters that are neither ASCII letters and digits nor one of . _ - + and slashes", name)
		case strings.ContainsRune(".-+", rune(element[0])):
			return fmt.Errorf("%q has an element that begins with %q", name, element[:1])
		}
		if err := ntfile.CheckName(element); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

func isLetterOrDigit(r rune) bool {
	return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}
