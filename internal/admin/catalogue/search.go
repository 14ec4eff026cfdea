package catalogue

import (
	"cmp"
	"slices"
	"strings"
)

// Match is a plugin that a search found: its newest version in one catalogue, of those that are not revoked if there is one.
type Match struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Signer      string   `json:"signer,omitempty"`
	SHA256      string   `json:"sha256"`
	From        string   `json:"from,omitempty"` // reference; empty for a plugin that is installed
	Dir         string   `json:"dir,omitempty"`  // directory of a plugin that is installed
	Size        int64    `json:"size,omitempty"` // bytes of the archive
	Catalogue   string   `json:"catalogue,omitempty"`
	LooksLike   []string `json:"looks_like,omitempty"` // names of plugins of other signers that look like its own
	Revoked     string   `json:"revoked,omitempty"`    // why it is revoked; then each other version is revoked too
	Others      []Other  `json:"others,omitempty"`     // the other versions in the catalogue, the newest first
}

// Other is a version of a plugin besides the one that a search shows.
type Other struct {
	Version string `json:"version"`
	Revoked string `json:"revoked,omitempty"` // why it is revoked
}

// Search returns the plugins whose name or description contains each word of text. Those whose name does come first.
func (s *Sources) Search(text string) []Match {
	words := strings.Fields(strings.ToLower(text))
	out := []Match{}
	seen := map[[2]string]bool{} // by name and digest
	add := func(e Entry, all []Entry, catalogue, dir string) {
		if rank(e, words) == 0 || seen[[2]string{e.Name, e.SHA256}] {
			return
		}
		seen[[2]string{e.Name, e.SHA256}] = true
		m := Match{Name: e.Name, Version: e.Version, Description: e.Description, Signer: e.Signer.String(), SHA256: e.SHA256, Dir: dir, Size: e.Size, Catalogue: catalogue, LooksLike: s.lookalikes(e), Revoked: e.Revoked}
		for _, other := range all {
			if other.Version != e.Version {
				m.Others = append(m.Others, Other{other.Version, other.Revoked})
			}
		}
		if dir == "" {
			m.From = e.reference.String()
		}
		out = append(out, m)
	}
	lists := s.Lists
	if s.program != nil {
		lists = lists[:len(lists)-1]
	}
	for _, l := range lists {
		l.eachNewest(func(e Entry, all []Entry) { add(e, all, l.From, "") })
	}
	for _, e := range s.installed {
		add(e, nil, "", s.plugins[e.Name])
	}
	if s.program != nil {
		s.program.eachNewest(func(e Entry, all []Entry) { add(e, all, s.program.From, "") })
	}
	slices.SortStableFunc(out, func(a, b Match) int {
		entry := func(m Match) Entry { return Entry{Name: m.Name, Description: m.Description} }
		return cmp.Or(rank(entry(b), words)-rank(entry(a), words), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// eachNewest calls do for the newest version of each plugin that is not revoked, or else for the newest, and with all of its versions.
func (l List) eachNewest(do func(e Entry, all []Entry)) {
	for i := 0; i < len(l.entries); {
		end := i
		for end < len(l.entries) && l.entries[end].Name == l.entries[i].Name {
			end++
		}
		all := l.entries[i:end]
		e := newest(Name{}, all)
		if e == nil {
			e = &all[0]
		}
		do(*e, all)
		i = end
	}
}

// rank says how well an entry fits: 0 for not at all.
func rank(e Entry, words []string) int {
	best := 3
	description := strings.ToLower(e.Description)
	for _, word := range words {
		switch {
		case e.Name == word:
		case strings.Contains(e.Name, word):
			best = min(best, 2)
		case strings.Contains(description, word):
			best = min(best, 1)
		default:
			return 0
		}
	}
	return best
}
