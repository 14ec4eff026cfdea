package store

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the maximum length of a name in a request, in bytes.
const MaxName = 1024

// Labels that error messages put before a name.
const (
	ChangeLabel = "Change name"
	SpecLabel   = "Spec id"
)

// ArchiveName is the name of the directory of archived changes, which is in the directory of active changes. So no
// change can have this name.
const ArchiveName = "archive"

// InvalidName is the error for an invalid name in a request. It depends only on the name, not on the files that exist.
type InvalidName struct{ Label, Reason string }

func (i *InvalidName) Error() string { return i.Label + " " + i.Reason }

// CheckChange returns an error for a name that no change can have. The error is an *InvalidName.
func CheckChange(name string) error {
	if err := checkSegment(ChangeLabel, name); err != nil {
		return err
	}
	if name == ArchiveName {
		return &InvalidName{ChangeLabel, "is reserved"}
	}
	return nil
}

// CheckSpec returns an error for an id that no capability can have. Each part of an id between slashes must be a valid
// name of a directory. The error is an *InvalidName.
func CheckSpec(id string) error {
	if id == "" {
		return &InvalidName{SpecLabel, "must not be empty"}
	}
	if len(id) > MaxName {
		return &InvalidName{SpecLabel, fmt.Sprintf("must not be longer than %d bytes", MaxName)}
	}
	for segment := range strings.SplitSeq(id, "/") {
		if err := checkSegment(SpecLabel, segment); err != nil {
			return err
		}
	}
	return nil
}

// CheckArchived returns an error for a name that no archived change can have. The error is an *InvalidName.
func CheckArchived(name string) error { return checkSegment(ChangeLabel, name) }

// breaksLines reports whether r is a control character, U+2028 or U+2029. Names occur in prompts and messages, so they
// must not contain line breaks.
func breaksLines(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

func checkSegment(label, name string) error {
	invalid := func(reason string) error { return &InvalidName{label, reason} }
	switch {
	case name == "":
		return invalid("must not be empty")
	case name == "." || name == "..":
		return invalid("must not be '" + name + "'")
	case strings.ContainsAny(name, `/\`):
		return invalid("must not contain path separators")
	case strings.HasPrefix(name, "."):
		return invalid("must not begin with a dot")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, breaksLines):
		return invalid("must not contain control characters")
	case len(name) > MaxName:
		return invalid(fmt.Sprintf("must not be longer than %d bytes", MaxName))
	}
	return nil
}

var dateForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-`)

// HasDate reports whether name begins with a date and a hyphen.
func HasDate(name string) bool { return dateForm.MatchString(name) }
