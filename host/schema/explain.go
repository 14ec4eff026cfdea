package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const (
	maxFaults = 10  // faults named in one error
	maxFault  = 300 // bytes of one fault
)

// explain makes one error of all that is wrong, in an order that does not change from one check to the
// next: "/items/0/name: must be a string, not a number; missing property 'id'".
func explain(verr *jsonschema.ValidationError) error {
	faults := flatten(verr, nil)
	slices.Sort(faults)
	faults = slices.Compact(faults)
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(faults, "; "))
}

// flatten appends the faults below e. The branches of an anyOf or oneOf are alternatives, so they are one
// fault together.
func flatten(e *jsonschema.ValidationError, faults []string) []string {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) == 0 {
			break
		}
		var branches []string
		for _, c := range e.Causes {
			branches = append(branches, strings.Join(flatten(c, nil), " and "))
			if len(branches) > maxFaults {
				break
			}
		}
		return append(faults, fault(e, "must match one of: "+strings.Join(branches, " | ")))
	case *kind.PropertyNames, *kind.ContentSchema:
		return append(faults, fault(e, describe(e.ErrorKind)))
	}
	if len(e.Causes) == 0 {
		return append(faults, fault(e, describe(e.ErrorKind)))
	}
	for _, c := range e.Causes {
		faults = flatten(c, faults)
	}
	return faults
}

func fault(e *jsonschema.ValidationError, what string) string {
	if len(e.InstanceLocation) == 0 {
		return shorten(what, maxFault)
	}
	var b strings.Builder
	for _, part := range e.InstanceLocation {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(shorten(part, 80)))
	}
	return shorten(b.String()+": "+what, maxFault)
}

func describe(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		return "unknown " + properties(k.Properties)
	case *kind.Required:
		return "missing " + properties(k.Missing)
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.Format:
		return fmt.Sprintf("is not a valid %s: %v", k.Want, k.Err)
	case *kind.Pattern:
		return fmt.Sprintf("does not match the pattern %s", k.Want)
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

func properties(names []string) string {
	quoted := make([]string, min(len(names), maxFaults))
	for i := range quoted {
		quoted[i] = "'" + shorten(names[i], 80) + "'"
	}
	s := "property "
	if len(names) > 1 {
		s = "properties "
	}
	s += strings.Join(quoted, ", ")
	if more := len(names) - len(quoted); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// shorten cuts s to at most n bytes, at the end of a character.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
