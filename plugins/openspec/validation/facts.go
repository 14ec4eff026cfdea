package validation

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/merge"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// DeltaFacts holds the data about a delta file that validation needs. The data depends only on the content of the file.
type DeltaFacts struct {
	Issues   []Issue // the issues that do not depend on the main spec; their paths are not set
	Entries  int     // number of requirements
	Sections []string

	failed bool // the delta has errors or no requirements, so a merge is never tried
	begins bool // a merge of the delta can create a new spec
	plain  bool // no part of the delta can hide another part from the parser of specs
	added, modified, removed,
	from, to []name // the old names and the new names of renames
}

// SpecFacts holds the data about a main spec that lists and validation need. The data depends only on the content of
// the file.
type SpecFacts struct {
	Issues       []Issue
	Requirements int // number of requirements; 0 if the spec cannot be parsed

	plain  bool // no part of the spec can hide another part from the parser, and the folded names are unique
	blocks []name
	index  map[string]*name // the requirements of the spec; the key is the folded name
}

// name describes a requirement by its name and its scenarios.
type name struct {
	text, folded string
	scenarios    []string // the names of the scenarios
	sum          string   // a digest of the lines of the requirement
}

// DeltaFactsOf returns the facts of a parsed delta.
func DeltaFactsOf(text *markdown.Text, d *delta.Delta) DeltaFacts {
	f := DeltaFacts{Issues: deltaIssues("", d, nil), Entries: d.Entries(), Sections: d.Sections}
	f.failed = f.Entries == 0 || !Valid(f.Issues, false)
	if !f.failed {
		// Placeholders suffice for the names of the capability and of the change, because Apply writes these names only
		// where it does not parse the result.
		_, err := merge.Apply(merge.Input{ID: "id", Change: "change", Delta: d})
		f.begins = err == nil
	}
	f.plain = !text.Open && (f.failed || merge.Refuse("", d) == nil)
	for _, list := range []struct {
		blocks []requirement.Block
		names  *[]name
		kept   bool // a merge copies the lines of the requirement to the spec
	}{{d.Added, &f.added, true}, {d.Modified, &f.modified, true}, {d.Removed, &f.removed, false}} {
		for _, block := range list.blocks {
			one := nameOf(block)
			if list.names != &f.modified {
				one.scenarios = nil
			}
			if list.names != &f.added {
				one.sum = ""
			}
			*list.names = append(*list.names, one)
			f.plain = f.plain && block.Name == requirement.Key(block.Name) && (!list.kept || isFound(block.Raw(), block.Name))
		}
	}
	for _, pair := range d.Renamed {
		f.from = append(f.from, name{text: pair.From, folded: requirement.Fold(pair.From)})
		f.to = append(f.to, name{text: pair.To, folded: requirement.Fold(pair.To)})
		f.plain = f.plain && pair.From == requirement.Key(pair.From) && isFound(requirement.Title(pair.To), pair.To)
	}
	return f
}

// SpecFactsOf returns the facts of a main spec.
func SpecFactsOf(main *spec.Main) SpecFacts {
	var f SpecFacts
	f.Issues, f.Requirements = check(main)
	parts := main.Parts()
	f.plain = len(main.Problems()) == 0 && !main.Text().Open && !strings.HasPrefix(main.Text().Lines[0], "\uFEFF")
	folded := map[string]bool{}
	for _, block := range parts.Blocks {
		one := nameOf(block)
		f.plain = f.plain && !folded[one.folded] && isFound(block.Raw(), requirement.Key(block.Name))
		folded[one.folded] = true
		f.blocks = append(f.blocks, one)
	}
	return f
}

func nameOf(block requirement.Block) name {
	sum := sha256.Sum256([]byte(block.Raw()))
	one := name{text: block.Name, folded: requirement.Fold(block.Name), sum: string(sum[:])}
	for _, scenario := range block.Scenarios() {
		one.scenarios = append(one.scenarios, scenario.Name)
	}
	return one
}

// isFound reports whether the lines in raw, without trailing white space, are still parsed as the requirement with the
// given name. Trailing white space can be significant: "### Requirement: " has an empty name, and "### Requirement:" is
// not a requirement.
func isFound(raw, name string) bool {
	header, _, _ := strings.Cut(markdown.TrimRight(raw), "\n")
	found, ok := requirement.ParseHeader(header)
	return ok && found == name
}

// issuesAt returns the issues of the delta with their path set.
func (f *DeltaFacts) issuesAt(path string) []Issue {
	all := append([]Issue(nil), f.Issues...)
	for i := range all {
		all[i].Path = path
	}
	return all
}

// Fit reports whether the facts show that the delta loses no scenario of the main spec, and that an archive would not
// refuse the delta. If Fit returns false, the caller must read and check the files. The argument main is nil if the
// spec does not exist.
func (f *DeltaFacts) Fit(main *SpecFacts) bool {
	if main == nil {
		return f.failed || f.begins
	}
	if !f.plain || !main.plain {
		return false
	}
	var current map[string]*name // the requirements that differ from the main spec; the key is the folded name, and nil stands for a removed requirement
	set := func(folded string, one *name) {
		if current == nil {
			current = map[string]*name{}
		}
		current[folded] = one
	}
	alike := func(one name) *name {
		if found, differs := current[one.folded]; differs {
			return found
		}
		return main.find(one.folded)
	}
	exact := func(one name) *name {
		if found := alike(one); found != nil && found.text == one.text {
			return found
		}
		return nil
	}
	for i, from := range f.from {
		source, to := exact(from), f.to[i]
		if source == nil || alike(to) != nil {
			return false
		}
		set(from.folded, nil)
		set(to.folded, &name{text: to.text, folded: to.folded, scenarios: source.scenarios})
	}
	for _, one := range f.removed {
		switch {
		case exact(one) != nil:
			set(one.folded, nil)
		case alike(one) != nil:
			return false
		}
	}
	for _, one := range f.modified {
		if old := exact(one); old == nil || !one.includes(old) {
			return false
		}
	}
	for _, one := range f.added {
		switch same := exact(one); {
		case same != nil && same.sum == one.sum:
		case alike(one) != nil:
			return false
		default:
			set(one.folded, &one)
		}
	}
	return true
}

// fewBlocks is the maximum number of requirements that are searched without an index.
const fewBlocks = 16

func (f *SpecFacts) find(folded string) *name {
	if len(f.blocks) <= fewBlocks {
		for i := range f.blocks {
			if f.blocks[i].folded == folded {
				return &f.blocks[i]
			}
		}
		return nil
	}
	if f.index == nil {
		f.index = make(map[string]*name, len(f.blocks))
		for i := range f.blocks {
			f.index[f.blocks[i].folded] = &f.blocks[i]
		}
	}
	return f.index[folded]
}

// includes reports whether the scenarios of the requirement begin with those of old, in the same order.
func (n name) includes(old *name) bool {
	count := len(old.scenarios)
	return len(n.scenarios) >= count && slices.Equal(n.scenarios[:count], old.scenarios)
}

// Memory returns an estimate of the memory that the facts take, in bytes.
func (f *DeltaFacts) Memory() int {
	return memory(f.Issues, f.added, f.modified, f.removed, f.from, f.to)
}

// Memory returns an estimate of the memory that the facts take, in bytes.
func (f *SpecFacts) Memory() int { return memory(f.Issues, f.blocks) }

func memory(issues []Issue, lists ...[]name) int {
	const own, each = 256, 128
	n := own
	for _, issue := range issues {
		n += each + len(issue.Message) + len(issue.Path)
	}
	for _, names := range lists {
		for _, one := range names {
			n += each + len(one.text) + len(one.folded) + len(one.sum)
			for _, scenario := range one.scenarios {
				n += each/4 + len(scenario)
			}
		}
	}
	return n
}

// Fields implements derive.Fielder.
func (f *DeltaFacts) Fields(c *derive.Codec) {
	derive.List(c, &f.Issues)
	c.Int(&f.Entries)
	c.Strings(&f.Sections)
	c.Bool(&f.failed)
	c.Bool(&f.begins)
	c.Bool(&f.plain)
	for _, names := range []*[]name{&f.added, &f.modified, &f.removed, &f.from, &f.to} {
		derive.List(c, names)
	}
}

// Fields implements derive.Fielder.
func (f *SpecFacts) Fields(c *derive.Codec) {
	derive.List(c, &f.Issues)
	c.Int(&f.Requirements)
	c.Bool(&f.plain)
	derive.List(c, &f.blocks)
}

// Fields implements derive.Fielder.
func (n *name) Fields(c *derive.Codec) {
	c.String(&n.text)
	c.String(&n.folded)
	c.Strings(&n.scenarios)
	c.String(&n.sum)
}
