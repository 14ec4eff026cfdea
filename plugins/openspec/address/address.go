// Package address parses and formats the URIs of openspec resources.
//
//	at, err := address.Parse("openspec://changes/add-x/specs/platform/session")
//
// The package does not use net/url, which would parse "specs" as a host and resolve ".." before Parse could refuse it.
// A caller can look up an Address from Parse safely; the resource need not exist.
package address

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// Prefix is the beginning of every URI.
const Prefix = "openspec://"

// maxURI is the maximum length of a URI, in bytes.
const maxURI = 4096

// Collection is the first segment of a URI, which names a collection of resources.
type Collection string

// The collections. Project and Instructions contain one document each.
const (
	Specs        Collection = "specs"
	Changes      Collection = "changes"
	Archive      Collection = "archive"
	Project      Collection = "project"
	Instructions Collection = "instructions"
)

// Part is a part of a change.
type Part string

// The parts of a change. Summary is the change itself.
const (
	Summary  Part = ""
	Proposal Part = "proposal"
	Tasks    Part = "tasks"
	Design   Part = "design"
	Deltas   Part = "specs"
)

// Address is the address of one resource.
type Address struct {
	In Collection
	// Name is the id of a spec, or the name of an active or archived change. If Name is empty, the resource is the
	// collection itself.
	Name string
	Part Part
	// Capability names one delta if Part is Deltas. If Capability is empty, the resource is the list of deltas.
	Capability string
}

// Invalid is the error of Parse. It depends only on the URI, not on the files that exist.
type Invalid struct{ message string }

func (i *Invalid) Error() string { return i.message }

// Parse parses a URI. The error is an *Invalid.
func Parse(uri string) (Address, error) {
	invalid := &Invalid{"Invalid URI: " + escape(uri)}
	if len(uri) > maxURI || len(uri) < len(Prefix) || !strings.EqualFold(uri[:len(Prefix)], Prefix) || strings.ContainsAny(uri, "?#") {
		return Address{}, invalid
	}
	segments := strings.Split(uri[len(Prefix):], "/")
	in, rest := Collection(segments[0]), segments[1:]
	switch in {
	case Specs:
		return parseSpec(rest)
	case Changes, Archive:
		return parseChange(in, rest, invalid)
	case Project, Instructions:
		if len(rest) == 0 {
			return Address{In: in}, nil
		}
	}
	return Address{}, invalid
}

func parseSpec(rest []string) (Address, error) {
	if len(rest) == 0 {
		return Address{In: Specs}, nil
	}
	id, ok := join(rest)
	if !ok || store.CheckSpec(id) != nil {
		return Address{}, &Invalid{"Invalid spec id"}
	}
	return Address{In: Specs, Name: id}, nil
}

func parseChange(in Collection, rest []string, invalid error) (Address, error) {
	if len(rest) == 0 {
		return Address{In: in}, nil
	}
	check := store.CheckChange
	if in == Archive {
		check = store.CheckArchived
	}
	name, ok := decode(rest[0])
	if !ok || check(name) != nil {
		return Address{}, &Invalid{"Invalid change name"}
	}
	at := Address{In: in, Name: name}
	if len(rest) == 1 {
		return at, nil
	}
	at.Part = Part(rest[1])
	switch at.Part {
	case Proposal, Tasks, Design:
		if len(rest) > 2 {
			return Address{}, invalid
		}
		return at, nil
	case Deltas:
		if len(rest) == 2 {
			return at, nil
		}
		at.Capability, ok = join(rest[2:])
		if !ok || store.CheckSpec(at.Capability) != nil {
			return Address{}, &Invalid{"Invalid capability"}
		}
		return at, nil
	}
	return Address{}, invalid
}

// join decodes the segments of a nested id and joins them with slashes.
func join(segments []string) (string, bool) {
	names := make([]string, len(segments))
	for i, segment := range segments {
		name, ok := decode(segment)
		if !ok {
			return "", false
		}
		names[i] = name
	}
	return strings.Join(names, "/"), true
}

// decode decodes the percent escapes of a segment once. It refuses ".." and characters that a name cannot have.
func decode(segment string) (string, bool) {
	name, err := url.PathUnescape(segment)
	if err != nil || name == "" || !utf8.ValidString(name) {
		return "", false
	}
	if strings.HasPrefix(name, ".") || strings.Contains(name, "..") || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", false
	}
	return name, true
}

// escape returns text shortened, and with unsafe characters escaped, so that a message can contain it.
func escape(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// String returns the URI of the address.
func (a Address) String() string {
	segments := []string{string(a.In)}
	if a.Name != "" {
		segments = append(segments, encode(a.Name))
	}
	if a.Part != Summary {
		segments = append(segments, string(a.Part))
	}
	if a.Capability != "" {
		segments = append(segments, encode(a.Capability))
	}
	return Prefix + strings.Join(segments, "/")
}

// encode returns a name with percent escapes. It keeps the slashes of a nested id.
func encode(name string) string {
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}
