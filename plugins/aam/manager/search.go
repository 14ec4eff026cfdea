package manager

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/search"
)

// Found is one package in the result of Search.
type Found struct {
	Name          string   `json:"name"`
	Version       string   `json:"version"` // the latest version of the package
	Description   string   `json:"description"`
	Author        *string  `json:"author"`
	ArtifactTypes []string `json:"artifact_types"`
	Registry      string   `json:"registry"`
}

// The smallest and the largest value of the argument limit of Search.
const (
	MinResults = 1
	MaxResults = 50
)

// hit is a package together with its registry.
type hit struct {
	registry *registry.Registry
	entry    *registry.Entry
}

// Search finds packages in all registries. If packageType is not "", Search returns only packages that have artifacts
// of this type. If a registry cannot be read, the error has the code RegistryUnreachable.
func (m *Manager) Search(query string, limit int, packageType string) ([]Found, error) {
	if limit < MinResults || limit > MaxResults {
		return nil, fault.New(fault.InvalidArgument, "limit must be between %d and %d, got %d", MinResults, MaxResults, limit)
	}
	if _, ok := manifest.ParseType(packageType); packageType != "" && !ok {
		return nil, fault.New(fault.InvalidArgument, "package_type must be one of skill, agent, prompt, instruction, not %.60q", packageType)
	}
	hits, err := m.index()
	if err != nil {
		return nil, err
	}
	ranked := search.Rank(search.NewQuery(query), hits, func(h hit) search.Package {
		return search.Package{Name: h.entry.Name, Description: h.entry.Description, Keywords: h.entry.Keywords}
	})
	found := []Found{}
	for _, h := range ranked {
		if len(found) == limit {
			break
		}
		types := m.types(h)
		if packageType != "" && !slices.Contains(types, packageType) {
			continue
		}
		found = append(found, Found{h.entry.Name, h.entry.Latest, h.entry.Description, m.author(h), types, h.registry.Name})
	}
	return found, nil
}

// index returns the packages of all registries.
func (m *Manager) index() ([]hit, error) {
	c, _, err := m.config()
	if err != nil {
		return nil, err
	}
	var hits []hit
	for _, r := range c.Registries {
		client, err := m.local(r)
		if err != nil {
			return nil, err
		}
		client = client.Reading()
		entries, err := client.Index()
		if err != nil {
			return nil, err
		}
		hits = slices.Grow(hits, len(entries))
		for i := range entries {
			hits = append(hits, hit{&client, &entries[i]})
		}
	}
	return hits, nil
}

// types returns the types of a package's artifacts, or an empty list if the types cannot be determined.
func (m *Manager) types(h hit) []string {
	types, err := h.registry.Types(*h.entry, m.Limits)
	if err != nil {
		m.Warn(fmt.Sprintf("registry '%s': package %s: %v", h.registry.Name, h.entry.Name, err))
	}
	if types == nil {
		types = []string{}
	}
	return types
}

// author returns the author of a package; nil if the author is unknown.
func (m *Manager) author(h hit) *string {
	author, err := h.registry.Author(h.entry.Name)
	if err != nil {
		m.Warn(fmt.Sprintf("registry '%s': package %s: %v", h.registry.Name, h.entry.Name, err))
		return nil
	}
	return author
}
