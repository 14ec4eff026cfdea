//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/guide"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// markdownPages returns the content of the repository's Markdown files by path relative to its root.
func markdownPages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md", "plugins/*/*.md", "sdk/*/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			all[strings.TrimPrefix(file, "../")] = readFile(t, file)
		}
	}
	if len(all) < 8 {
		t.Fatalf("found only %d pages", len(all))
	}
	return all
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksBetweenPagesResolve(t *testing.T) {
	for name, text := range markdownPages(t) {
		checkLinks(t, filepath.Join("..", name), text)
	}
}

// checkLinks checks that the links of a page to files resolve, and those to headings of a page.
func checkLinks(t *testing.T, page, text string) {
	t.Helper()
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, "://") {
			continue
		}
		file, linked := page, text
		if target != "" {
			file = filepath.Join(filepath.Dir(page), target)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if anchor != "" && filepath.Ext(file) == ".md" {
				linked = readFile(t, file)
			}
		}
		if anchor != "" && filepath.Ext(file) == ".md" && !slices.Contains(anchors(linked), anchor) {
			t.Errorf("%s links to %s: %s has no such heading", page, m[1], file)
		}
	}
}

var (
	heading      = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	linkTarget   = regexp.MustCompile(`\]\([^)]*\)`)
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the anchors of the headings of a page, as GitHub makes them.
func anchors(page string) []string {
	var all []string
	count := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		text := notInAnchors.ReplaceAllString(linkTarget.ReplaceAllString(strings.ToLower(m[1]), ""), "")
		anchor := strings.ReplaceAll(strings.TrimSpace(text), " ", "-")
		if n := count[anchor]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			all = append(all, anchor)
		}
		count[anchor]++
	}
	return all
}

func TestAnchorsAreThoseOfHeadings(t *testing.T) {
	got := anchors("# `[audit]`: what is *kept*\n\n```sh\n# no heading\n```\n\n## A [link](x.md#y), twice\n## A link, twice\n### snake_case\n")
	want := []string{"audit-what-is-kept", "a-link-twice", "a-link-twice-1", "snake_case"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDocsDataBlocksParse(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for name, text := range markdownPages(t) {
		for _, b := range guide.Blocks(text) {
			switch b.Language {
			case "toml":
				if err := toml.Unmarshal([]byte(b.Text), &map[string]any{}); err != nil {
					t.Errorf("%s: %v\n%s", name, err, b.Text)
				}
			case "json":
				if !json.Valid([]byte(b.Text)) && !eachLineIsJSON(b.Text) {
					t.Errorf("%s: invalid JSON:\n%s", name, b.Text)
				}
			}
			count[b.Language]++
		}
	}
	if count["toml"] == 0 || count["json"] == 0 {
		t.Errorf("no blocks of TOML or of JSON: %v", count)
	}
}

func eachLineIsJSON(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !json.Valid([]byte(line)) {
			return false
		}
	}
	return true
}

// TestDocsExamplesAreValid parses each manifest and config in the reference pages.
func TestDocsExamplesAreValid(t *testing.T) {
	config := func(text string) error {
		if strings.HasPrefix(text, "# "+discovery.CeilingFile) {
			_, problems := config.ParseCeiling(discovery.CeilingFile, []byte(text))
			return problems.Err()
		}
		if strings.HasPrefix(text, "# "+catalogue.FileName) {
			at, err := source.ParseDocument("https://plugins.example/" + catalogue.FileName)
			if err != nil {
				return err
			}
			_, problems := catalogue.Parse(at, []byte(text))
			return problems.Err()
		}
		_, problems := config.ParseWith("bulkhead.toml", []byte(text), func(string) ([]byte, error) { return nil, nil })
		return problems.Err()
	}
	plugin := func(text string) error {
		m, problems := manifest.Parse("plugin.toml", []byte(text))
		if err := problems.Err(); err != nil {
			return err
		}
		return m.Check().Err()
	}
	parsers := map[string]func(text string) error{
		"docs/manifest.md": plugin,
		"docs/commands.md": func(text string) error {
			if strings.HasPrefix(text, "args") { // a part of the table of a tool
				text = "manifest = 1\n[plugin]\nname = 'x'\nversion = '0.1.0'\ndescription = 'x'\n[module]\nfile = 'x.wasm'\nkind = 'command'\n" +
					"[[tools]]\nname = 'x'\ndescription = 'x'\naccess = 'read'\n" + text
			}
			return plugin(text)
		},
		"docs/config.md":    config,
		"docs/admin.md":     config,
		"docs/observing.md": config,
	}
	for page, parse := range parsers {
		examples := 0
		for _, b := range guide.Blocks(readFile(t, filepath.Join("..", page))) {
			if b.Language != "toml" {
				continue
			}
			examples++
			if err := parse(b.Text); err != nil {
				t.Errorf("%s, example %d: %v", page, examples, err)
			}
		}
		if examples == 0 {
			t.Errorf("%s has no TOML example", page)
		}
	}
}

func TestDocsABINamesEverything(t *testing.T) {
	page := readFile(t, "../docs/abi.md")
	for _, name := range []string{
		abi.ImportModule, abi.ExportMarker, abi.ExportCall, abi.ExportInitialize, abi.ExportMemory,
		abi.ImportInput, abi.ImportOutput, abi.ImportHostCall, abi.ImportHostResult, abi.ImportLog,
		abi.MethodToolsCall, abi.MethodPromptsList, abi.MethodPromptsGet, abi.MethodResourcesList,
		abi.MethodResourcesTemplatesList, abi.MethodResourcesRead, abi.MethodComplete, abi.MethodDescribe,
		abi.HostDenied, abi.HostInvalid, abi.HostUnavailable, abi.HostFailed,
		abi.OpGitBranchExists, abi.OpGitReadFile, abi.OpGitFindCommit, abi.OpGitTopLevel, abi.OpGitCurrentBranch,
		abi.OpGitResolveRef, abi.OpGitRemoteURL, abi.OpGitIgnored, abi.OpGitStatus, abi.OpGitCommitBranch,
		abi.OpGitState, abi.OpGitRefs, abi.OpGitHistory, abi.OpGitChanges, abi.OpGitObjects, abi.OpGitAbbreviate,
		abi.OpGitAdd, abi.OpGitCommit, abi.OpGitCreateBranch, abi.OpGitReset,
		abi.OpGitListRemote, abi.OpGitFetch, abi.OpFSMode, abi.OpFSCreateMode, abi.OpFSScan, abi.OpFSGrants, abi.OpLock, abi.OpNotify,
		abi.OpHTTPFetch, abi.OpHashSHA256,
		"PWD", "BULKHEAD_PROJECT", "BULKHEAD_STATE", "BULKHEAD_ZONEINFO", "BULKHEAD_MEMORY", manifest.EnvDevelopment,
		string(engine.CodeModuleMissing), string(engine.CodeDigest), string(engine.CodeInvalidModule), string(engine.CodeTrap),
		string(engine.CodeExit), string(engine.CodeTimeout), string(engine.CodeFuel), string(engine.CodeMemory),
		string(engine.CodeStack), string(engine.CodeQueue), string(engine.CodeCanceled), string(engine.CodeNoResponse),
		string(engine.CodeInputSize), string(engine.CodeOutputSize), string(engine.CodeOperations), string(engine.CodeLogSize),
		string(engine.CodeMisuse), string(engine.CodeInternal),
		gateway.FailureInvalidResult, gateway.FailureInternal, "invalid_arguments", "invalid_response", "sandbox", "audit",
	} {
		if !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, "`"+name+"(") {
			t.Errorf("docs/abi.md does not name %s", name)
		}
	}
}

// TestDocsObservingNamesEveryFieldOfARecord compares the table of fields with those that the reader of the audit log knows.
func TestDocsObservingNamesEveryFieldOfARecord(t *testing.T) {
	_, table, _ := strings.Cut(readFile(t, "../docs/observing.md"), "\n| field | meaning |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[string]bool{}
	for line := range strings.Lines(table) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			documented[name[1]] = true
		}
	}
	fields := map[string]bool{"digest": true} // the reader does not use it
	for field := range reflect.TypeFor[audit.Entry]().Fields() {
		if name := field.Tag.Get("json"); name != "-" {
			fields[name] = true
		}
	}
	if diff := cmp.Diff(fields, documented); diff != "" {
		t.Errorf("docs/observing.md (want -, got +)\n%s", diff)
	}
}

func TestDocsClientsNamesEveryClient(t *testing.T) {
	page := readFile(t, "../docs/clients.md")
	for _, id := range client.IDs() {
		c, err := client.Find(id)
		if err != nil {
			t.Fatal(err)
		}
		if row := "| " + c.Title; !strings.Contains(page, row) || !strings.Contains(page, "| `"+id+"` |") {
			t.Errorf("docs/clients.md does not name %s with the name %s", c.Title, id)
		}
	}
}

// TestDistrictsNameTheirPackages checks the list of packages in the doc.go of each district, and that of districts in internal/doc.go.
func TestDistrictsNameTheirPackages(t *testing.T) {
	entry := regexp.MustCompile(`(?m)^//   - ([a-z0-9/]+): `)
	listed := map[string]bool{}
	for _, m := range entry.FindAllStringSubmatch(readFile(t, "../internal/doc.go"), -1) {
		for _, below := range entry.FindAllStringSubmatch(readFile(t, "../internal/"+m[1]+"/doc.go"), -1) {
			listed["internal/"+m[1]+"/"+below[1]] = true
		}
		listed["internal/"+m[1]] = true
	}
	all := packages(t)
	for pkg := range all {
		if strings.HasPrefix(pkg, "internal/") && !strings.Contains(pkg, "/internal/") && !listed[pkg] {
			t.Errorf("the doc.go of the district does not list %s", pkg)
		}
	}
	for pkg := range listed {
		if _, ok := all[pkg]; !ok {
			t.Errorf("a doc.go lists %s, which is no package", pkg)
		}
	}
}
