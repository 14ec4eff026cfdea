package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// Found is the version of a plugin that a name stands for.
type Found struct {
	Entry
	Catalogue string // address of the catalogue; empty if the plugin is installed beside the program
	Dir       string // directory of a plugin that is installed; otherwise empty
	// Operator is that of the range in which updates are wanted, for the version in the config.
	Operator string
	// LooksLike are the names of plugins of other signers that look like its own.
	LooksLike []string
	// Skipped are newer versions that the name stands for too, and that are revoked.
	Skipped []Entry
}

// offer is what one catalogue has of a plugin.
type offer struct {
	catalogue string
	entries   []Entry // the newest first
}

// has reports whether a catalogue means the plugin of which another one has the version e: the same key has signed one of its versions, or it
// has that very version.
func (o offer) has(e Entry) bool {
	return slices.ContainsFunc(o.entries, func(own Entry) bool { return !e.Signer.IsZero() && own.Signer == e.Signer || own.SHA256 == e.SHA256 })
}

// offers returns what the catalogues have of the plugin with a name, without the one that comes with the program.
func (s *Sources) offers(name string) []offer {
	var out []offer
	for _, l := range s.Lists {
		if s.program != nil && l.From == s.program.From {
			continue
		}
		if entries := l.of(name); len(entries) > 0 {
			out = append(out, offer{l.From, entries})
		}
	}
	return out
}

func (l List) of(name string) []Entry {
	var out []Entry
	for _, e := range l.entries {
		if e.Name == name {
			out = append(out, e)
		}
	}
	return out
}

// Find returns the newest version that a name stands for, of those that are not revoked. The catalogues of the config or the ceiling come first; a plugin that none of them
// has can be one that is installed beside the program, or in the catalogue there. It is an error if two catalogues mean different plugins.
func (s *Sources) Find(n Name) (*Found, error) {
	found, err := s.find(n)
	if err != nil {
		return nil, err
	}
	if found.Operator = n.Operator; n.Version == "" {
		found.Operator = "^"
	}
	found.LooksLike = s.lookalikes(found.Entry)
	for _, o := range append(s.offers(n.Name), s.own(n.Name)) {
		for _, e := range o.entries {
			isSkipped := e.Revoked != "" && n.wants(e.Version) && isNewer(e, found.Entry)
			if isSkipped && !slices.ContainsFunc(found.Skipped, func(have Entry) bool { return have.SHA256 == e.SHA256 }) {
				found.Skipped = append(found.Skipped, e)
			}
		}
	}
	return found, nil
}

func (s *Sources) find(n Name) (*Found, error) {
	offers := s.offers(n.Name)
	if len(offers) == 0 {
		return s.findOwn(n)
	}
	var best *Found
	for _, o := range offers {
		e := newest(n, o.entries)
		switch {
		case e == nil:
		case best != nil && best.Version == e.Version && best.Signer == e.Signer && best.SHA256 != e.SHA256:
			return nil, usage.Errorf("%s %s in the catalogue %s is not the one in %s: their plugin.toml have the SHA-256 %s and %s; ask who maintains them, or name the reference of one with `bulkhead add %s`",
				n.Name, e.Version, o.catalogue, best.Catalogue, e.SHA256, best.SHA256, e.reference)
		case best == nil || isNewer(*e, best.Entry):
			best = &Found{Entry: *e, Catalogue: o.catalogue}
		}
	}
	if best == nil {
		return nil, s.noVersion(n, offers)
	}
	for _, o := range offers {
		if !o.has(best.Entry) {
			return nil, ambiguous(n, offers)
		}
	}
	return best, nil
}

// findOwn returns a plugin that comes with the program.
func (s *Sources) findOwn(n Name) (*Found, error) {
	for _, e := range s.installed {
		if e.Name == n.Name && e.Revoked == "" && n.wants(e.Version) {
			return &Found{Entry: e, Dir: s.plugins[e.Name]}, nil
		}
	}
	if s.program != nil {
		if e := newest(n, s.program.of(n.Name)); e != nil {
			return &Found{Entry: *e, Catalogue: s.program.From}, nil
		}
	}
	if own := s.own(n.Name); len(own.entries) > 0 {
		return nil, s.noVersion(n, []offer{own})
	}
	return nil, s.unknown(n)
}

// own returns what comes with the program of the plugin with a name.
func (s *Sources) own(name string) offer {
	own := offer{entries: List{entries: s.installed}.of(name)}
	if s.program != nil {
		own.entries = append(own.entries, s.program.of(name)...)
	}
	return own
}

// newest returns the newest entry that a name stands for and that is not revoked, nil if there is none. Pre-releases count if the name asks for
// one, or if there is nothing else.
func newest(n Name, entries []Entry) *Entry {
	var best *Entry
	for i := range entries {
		e := &entries[i]
		if e.Revoked == "" && n.wants(e.Version) && (best == nil || isNewer(*e, *best)) {
			best = e
		}
	}
	return best
}

// isNewer reports whether a is to be preferred to b.
func isNewer(a, b Entry) bool {
	isRelease := func(e Entry) int {
		if semver.Prerelease("v"+e.Version) == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(isRelease(a)-isRelease(b), semver.Compare("v"+a.Version, "v"+b.Version)) > 0
}

func ambiguous(n Name, offers []offer) error {
	var candidates []string
	for _, o := range offers {
		e := o.entries[0]
		if wanted := newest(n, o.entries); wanted != nil {
			e = *wanted
		}
		candidates = append(candidates, fmt.Sprintf("\n  %s %s of %s, %s: bulkhead add '%s'", e.Name, e.Version, o.catalogue, signedBy(e.Signer), e.reference))
	}
	return usage.Errorf("%q is not one plugin: the catalogues have different ones of this name. Pin the key of the one that you mean in [sources.keys], or add it by its reference:%s",
		n.Name, strings.Join(candidates, ""))
}

func signedBy(key signature.Key) string {
	if key.IsZero() {
		return "not signed"
	}
	return "signed with " + key.String()
}

// maxNamed bounds the versions and names in an error.
const maxNamed = 20

func (s *Sources) noVersion(n Name, offers []offer) error {
	var versions, revoked []string
	var other *Entry // the newest one that is not revoked
	for _, o := range offers {
		if e := newest(Name{}, o.entries); e != nil && (other == nil || isNewer(*e, *other)) {
			other = e
		}
		for _, e := range o.entries {
			if e.Revoked != "" && n.wants(e.Version) && len(revoked) < maxNamed {
				revoked = append(revoked, fmt.Sprintf("%s %s %s", e.Name, e.Version, e.Revoked))
			}
			if v := "v" + e.Version; !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	if len(revoked) > 0 {
		remedy := "there is no version that is not revoked: ask the publisher of the catalogue"
		if other != nil {
			remedy = fmt.Sprintf("the newest version that is not revoked is added by `bulkhead add %s@%s`", n.Name, other.Version)
		}
		return usage.Errorf("%s: %s%s", strings.Join(revoked, "; "), remedy, s.troubles(n.Name))
	}
	semver.Sort(versions)
	slices.Reverse(versions)
	more := ""
	if len(versions) > maxNamed {
		versions, more = versions[:maxNamed], " and older ones"
	}
	return usage.Errorf("there is no version of %s in the range %s%s: there are %s%s%s", n.Name, n.Operator, n.Version, strings.ReplaceAll(strings.Join(versions, ", "), "v", ""), more, s.troubles(n.Name))
}

// UnknownError says that a name is in no catalogue.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }

// unknown returns the error for a name that is in no catalogue. It names what is near.
func (s *Sources) unknown(n Name) error {
	var where []string
	for _, l := range s.Lists {
		where = append(where, l.From)
	}
	names := s.names()
	otherwise := "name a directory or a reference, or a catalogue in [sources] of the config"
	switch {
	case len(names) > maxNamed:
		otherwise = "`bulkhead search` lists what there is"
	case len(names) > 0:
		otherwise = "there are " + strings.Join(names, ", ")
	}
	in := "there are no catalogues, and it is not installed beside the program"
	if len(where) > 0 {
		in = "it is neither in " + strings.Join(where, ", ") + " nor installed beside the program"
	}
	return &usage.Error{Err: &UnknownError{fmt.Sprintf("there is no plugin %q: %s; %s%s", n.Name, in, usage.DidYouMean(n.Name, names, otherwise), s.troubles(n.Name))}}
}

// troubles returns what may be the reason that a plugin is not found.
func (s *Sources) troubles(name string) string {
	var b strings.Builder
	for _, l := range s.Lists {
		if l.Problem != nil {
			fmt.Fprintf(&b, "\n  the catalogue %s: %s", l.From, l.Trouble())
		}
		for _, left := range l.LeftOut {
			if left.Name == name {
				fmt.Fprintf(&b, "\n  %s %s of %s is left out: %s", left.Name, left.Version, l.From, left.Why)
			}
		}
	}
	if s.Unused != nil {
		fmt.Fprintf(&b, "\n  the catalogues of the config are not used: %v", s.Unused)
	}
	return b.String()
}

// maxLookalikes bounds the names that are shown.
const maxLookalikes = 5

// lookalikes returns names that look like that of a plugin, and that another signer uses.
func (s *Sources) lookalikes(of Entry) []string {
	var out []string
	for signer, names := range s.looks[appearance(of.Name)] {
		if signer == of.Signer && !signer.IsZero() {
			continue
		}
		for name := range names {
			if name != of.Name && !slices.Contains(out, name) {
				out = append(out, name)
			}
			if len(out) == maxLookalikes {
				break
			}
		}
		if len(out) == maxLookalikes {
			break
		}
	}
	slices.Sort(out)
	return out
}

// indexAppearances sets looks. Catalogues can be large, so that names are not compared with each other.
func (s *Sources) indexAppearances() {
	s.looks = map[string]map[signature.Key]map[string]bool{}
	index := func(entries []Entry) {
		last := Entry{}
		for _, e := range entries {
			if e.Name == last.Name && e.Signer == last.Signer {
				continue
			}
			last = e
			look := appearance(e.Name)
			if s.looks[look] == nil {
				s.looks[look] = map[signature.Key]map[string]bool{}
			}
			if s.looks[look][e.Signer] == nil {
				s.looks[look][e.Signer] = map[string]bool{}
			}
			s.looks[look][e.Signer][e.Name] = true
		}
	}
	for _, l := range s.Lists {
		index(l.entries)
	}
	index(s.installed)
}

// Versions returns the entries for a plugin that was fetched from a reference: those with its name that the same key signed or, if it is not
// signed, that have the same source. catalogue is the address of the first list that has some. The error says which of these lists could not be
// fetched now: newer versions may be in it.
func (s *Sources) Versions(name, version string, signer signature.Key, from source.Reference) (entries []Entry, catalogue string, err error) {
	for _, l := range s.Lists {
		if l.Problem != nil && (l.Serial == 0 || len(l.of(name)) > 0) {
			err = errors.Join(err, fmt.Errorf("the catalogue %s could not be read: %s", l.From, l.Trouble()))
		}
		for _, e := range l.of(name) {
			same := e.Signer == signer
			if signer.IsZero() {
				same = same && e.reference.Series(e.Version) == from.Series(version)
			}
			if same && !slices.ContainsFunc(entries, func(have Entry) bool { return have.Version == e.Version }) {
				entries, catalogue = append(entries, e), cmp.Or(catalogue, l.From)
			}
		}
	}
	return entries, catalogue, err
}
