package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Revision compares the version of a plugin that a config pins with another one: what both request, and what both are granted.
type Revision struct {
	// Unknown is why there is no comparison, with the remedy; the other fields are empty then.
	Unknown     string `json:"unknown,omitempty"`
	*Difference `json:",omitempty"`
	Before      *review.Policy     `json:"granted_before,omitempty"`
	After       *review.Policy     `json:"granted_after,omitempty"`
	Grants      []review.GrantLine `json:"grants,omitempty"` // both policies, with the differences
}

// maxReasons bounds the keys that NeedsConsent names.
const maxReasons = 4

// NeedsConsent says why the update from the version from needs consent: what is more than before, or that it was imported; empty if it needs none.
func (p *Proposal) NeedsConsent(from string) string {
	var why []string
	if r := p.Revision; r.Grows() {
		switch {
		case r.Unknown != "":
			why = append(why, fmt.Sprintf("cannot be compared with %s", from))
		case r.More:
			why = append(why, fmt.Sprintf("asks for more than %s (%s)", from, r.moreKeys()))
		case r.Grants == nil:
			why = append(why, fmt.Sprintf("is granted more than is known of %s", from))
		default:
			why = append(why, fmt.Sprintf("is granted more than %s", from))
		}
	}
	if p.Source != nil && p.Source.Imported {
		why = append(why, "was imported")
	}
	return strings.Join(why, ", and ")
}

// moreKeys lists the keys of the changes that ask for more.
func (r *Revision) moreKeys() string {
	var keys []string
	for _, c := range r.Changes {
		if c.More && !slices.Contains(keys, c.Key) {
			keys = append(keys, c.Key)
		}
	}
	if len(keys) > maxReasons {
		keys = append(keys[:maxReasons], "…")
	}
	return strings.Join(keys, ", ")
}

// compareWithPinned compares the manifest that the config c pins for the plugin at index with m. after is the Catalog of a config that pins m.
// It needs the reviewed content of the pinned manifest, which may not be kept.
func compareWithPinned(o discovery.Options, c *config.Config, index int, m *manifest.Manifest, after *catalog.Catalog) (*Revision, error) {
	pin := c.Plugins[index].SHA256
	switch pin {
	case "":
		return &Revision{Unknown: "the config did not pin the plugin, so it is not known what was agreed to"}, nil
	case m.Digest:
		return &Revision{Unknown: "the config pins this version already"}, nil
	}
	file := filepath.Join(c.Plugins[index].Path, manifest.FileName) // of the pinned version, which has a directory of its own in the store
	old, err := reviewedIn(o).find(pin, file)
	if err != nil {
		return &Revision{Unknown: fmt.Sprintf("the pinned manifest cannot be used: %v", err)}, nil
	}
	if old == nil {
		if have, problems := manifest.Load(filepath.Dir(file)); problems.Err() == nil && have.Digest == pin {
			old = have // in the store, where it stays after an update
		}
	}
	if old == nil {
		return &Revision{Unknown: "the pinned manifest was not reviewed on this machine, or long ago: compare two directories with `bulkhead diff`"}, nil
	}
	before, problems := config.Parse(c.File, c.Content()) // c may have references that are expanded already
	if err := problems.Err(); err != nil {
		return nil, err
	}
	manifests := &manifest.Cache{}
	manifests.Use(old)
	was, err := catalog.LookWith(discovery.WithoutAdmission(discovery.WithManifests(o, manifests)), before)
	if err != nil {
		return nil, err
	}
	difference := differenceOf(old, m)
	r := &Revision{Difference: &difference}
	difference.Old = fmt.Sprintf("%s %s (as it was reviewed)", old.Name, old.Version)
	r.Before, r.After = explain.PolicyOf(o, was, was.Plugins[index]).Policy, explain.PolicyOf(o, after, after.Plugins[index]).Policy
	if r.Before != nil && r.After != nil {
		r.Grants = review.CompareGrants(*r.Before, *r.After)
	}
	return r, nil
}
