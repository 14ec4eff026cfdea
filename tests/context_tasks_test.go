//go:build unix

package tests

import (
	"regexp"
	"slices"
	"strings"
)

// contextTask is a task of a model, and how it is solved in each mode. Every tool that is called is one that find_tools finds by the
// queries. attempts has the scripts that come before the one that answers: those that look at what a tool returns, and those that failed.
type contextTask struct {
	question string
	want     []string        // the answer, in any order
	direct   [][]contextCall // calls in turn; those of one turn are made together
	find     []string        // queries of find_tools
	search   []string        // queries in the mode search, if direct has other tools than script
	describe []string        // names for describe_tools; in the mode search, those that direct has
	attempts []string
	script   string // returns the answer
}

// contextCall is a call of a tool.
type contextCall struct {
	tool string
	args members
}

// turns has one call in each turn.
func turns(calls ...contextCall) (all [][]contextCall) {
	for _, c := range calls {
		all = append(all, []contextCall{c})
	}
	return all
}

// each has a call for each key.
func each(of []string, call func(string) contextCall) (calls []contextCall) {
	for _, key := range of {
		calls = append(calls, call(key))
	}
	return calls
}

func show(name string) contextCall {
	return contextCall{"openspec_show", members{"name": name, "type": "change"}}
}

// keys returns a key of all elements that match.
func keys[T any](of []T, match func(T) bool, key func(T) string) (found []string) {
	for _, e := range of {
		if match(e) {
			found = append(found, key(e))
		}
	}
	return found
}

func specID(s contextSpec) string         { return s.id }
func changeName(c contextChange) string   { return c.name }
func packageName(p contextPackage) string { return p.name }
func promptName(p contextPrompt) string   { return p.name }
func sourcePath(s contextSource) string   { return s.path }

func (s contextSpec) has(label string) bool { return slices.Contains(s.labels, label) }
func (c contextChange) finished() bool      { return !c.archived && c.done == c.tasks }

// ready reports whether a spec of chant is pending and depends on completed ones only.
func (p *contextProject) ready(s contextSpec) bool {
	return s.status == "pending" && !slices.ContainsFunc(s.dependsOn, func(id string) bool { return p.statusOf(id) != "completed" })
}

func (p *contextProject) statusOf(id string) string {
	return p.specs[slices.IndexFunc(p.specs, func(s contextSpec) bool { return s.id == id })].status
}

// dependents returns how many packages depend on the named one.
func (p *contextProject) dependents(name string) (n int) {
	for _, k := range p.packages {
		if slices.Contains(k.dependsOn, name) {
			n++
		}
	}
	return n
}

// areaOf returns the area with the most specs of a status.
func (p *contextProject) areaOf(status string) string {
	count := map[string]int{}
	for _, s := range p.specs {
		if s.status == status {
			count[s.labels[0]]++
		}
	}
	return slices.MaxFunc(contextAreas, func(a, b string) int { return count[a] - count[b] })
}

func contextTasks(p *contextProject) []contextTask {
	return slices.Concat(specTasks(p), changeTasks(p), packageTasks(p), promptTasks(p), mixedTasks(p))
}

// Calls that several tasks make.
func listSpecs(status string) contextCall {
	return contextCall{"chant_spec_list", members{"status": status, "limit": 2000}}
}

func searchPackages(query string) contextCall {
	return contextCall{"aam_search", members{"query": query, "limit": 50}}
}

func readPath(path string) contextCall {
	return contextCall{"read_text_file", members{"path": path}}
}

func readPaths(paths []string) contextCall {
	return contextCall{"read_multiple_files", members{"paths": paths}}
}

// topArea is the part of a script that finds the area with the most of the specs.
const topArea = `const count = {};
for (const {labels} of specs) for (const l of labels) if (l !== "urgent") count[l] = (count[l] ?? 0) + 1;
const area = Object.keys(count).sort((a, b) => count[b] - count[a])[0];
`

func specTasks(p *contextProject) []contextTask {
	export := keys(p.specs, func(s contextSpec) bool { return s.status == "in_progress" && s.has("export") }, specID)
	return []contextTask{
		{
			question: "Which urgent specs can be begun now?",
			want:     keys(p.specs, func(s contextSpec) bool { return p.ready(s) && s.has("urgent") }, specID),
			direct:   turns(listSpecs("ready")),
			find:     []string{"list specs by status and label"},
			describe: []string{"chant_spec_list"},
			attempts: []string{`return tools.chant_spec_list({status: "ready", limit: 1})`},
			script:   `const {specs} = await tools.chant_spec_list({status: "ready", limit: 2000}); return specs.filter((s) => s.labels?.includes("urgent")).map((s) => s.id)`,
		},
		{
			question: "Which specs that are not completed depend on a failed one?",
			want: keys(p.specs, func(s contextSpec) bool {
				return s.status != "completed" && slices.ContainsFunc(s.dependsOn, func(id string) bool { return p.statusOf(id) == "failed" })
			}, specID),
			direct:   turns(contextCall{"chant_spec_list", members{"limit": 2000}}),
			find:     []string{"list specs with dependencies"},
			describe: []string{"chant_spec_list"},
			attempts: []string{`return tools.chant_spec_list({limit: 1})`},
			script: `const {specs} = await tools.chant_spec_list({limit: 2000});
const failed = new Set(specs.filter((s) => s.status === "failed").map((s) => s.id));
return specs.filter((s) => s.status !== "completed" && s.depends_on?.some((id) => failed.has(id))).map((s) => s.id)`,
		},
		{
			question: "Which specs in progress mention a data protection review?",
			want: keys(p.specs, func(s contextSpec) bool {
				return s.status == "in_progress" && strings.Contains(s.text, "data protection review")
			}, specID),
			direct:   turns(contextCall{"chant_search", members{"query": "data protection review", "status": "in_progress"}}),
			find:     []string{"search the text of specs"},
			describe: []string{"chant_search"},
			attempts: []string{`return (await tools.chant_search({query: "data protection review", status: "in_progress"})).slice(0, 200)`},
			script:   `return (await tools.chant_search({query: "data protection review", status: "in_progress"})).map((s) => s.id)`,
		},
		{
			question: "Which specs in progress with the label export have all criteria done?",
			want:     keys(p.specs, func(s contextSpec) bool { return slices.Contains(export, s.id) && s.done == s.criteria }, specID),
			direct: [][]contextCall{{listSpecs("in_progress")}, each(export, func(id string) contextCall {
				return contextCall{"chant_spec_get", members{"id": id}}
			})},
			find:     []string{"list specs by status and label", "details of one spec with criteria"},
			describe: []string{"chant_spec_list", "chant_spec_get"},
			attempts: []string{`const r = await tools.chant_spec_list({limit: 1}); return [typeof r, await tools.chant_spec_get({id: "2026-01-01-003-a3a"})]`, `const l = await tools.chant_spec_list({limit: 1}); return [l, await tools.chant_spec_get({id: l.specs[0].id})]`},
			script: `const {specs} = await tools.chant_spec_list({status: "in_progress", limit: 2000});
const all = await Promise.all(specs.filter((s) => s.labels?.includes("export")).map(({id}) => tools.chant_spec_get({id})));
return all.filter((s) => !s.body.includes("- [ ]")).map((s) => s.id)`,
		},
	}
}

func changeTasks(p *contextProject) []contextTask {
	hub := p.hub()
	touching := keys(p.changes, func(c contextChange) bool { return !c.archived && slices.Contains(c.touches, hub) }, changeName)
	deltas := contextCall{"search_files", members{"path": "openspec/changes", "pattern": "*/specs/" + hub + "/spec.md"}}
	return []contextTask{
		{
			question: "Which active changes have all their tasks done?",
			want:     keys(p.changes, contextChange.finished, changeName),
			direct:   turns(contextCall{"openspec_list_changes", nil}),
			find:     []string{"active changes and their tasks"},
			describe: []string{"openspec_list_changes"},
			attempts: []string{`return JSON.stringify(await tools.openspec_list_changes({})).slice(0, 300)`},
			script:   `const {changes} = await tools.openspec_list_changes({}); return changes.filter((c) => c.completedTasks === c.totalTasks).map((c) => c.name)`,
		},
		{
			question: "Which archived changes have open tasks?",
			want:     keys(p.changes, func(c contextChange) bool { return c.archived && c.done < c.tasks }, changeName),
			direct:   turns(contextCall{"openspec_list", members{"type": "archived"}}),
			find:     []string{"list archived changes"},
			describe: []string{"openspec_list"},
			attempts: []string{`return JSON.stringify(await tools.openspec_list({type: "archived"})).slice(0, 300)`},
			script:   `const {archived} = await tools.openspec_list({type: "archived"}); return archived.filter((c) => c.completedTasks < c.totalTasks).map((c) => c.change)`,
		},
		{
			question: "Which capabilities have more than four requirements?",
			want: keys(p.capabilities, func(c contextCapability) bool { return c.requirements > 4 }, func(c contextCapability) string {
				return c.name
			}),
			direct:   turns(contextCall{"openspec_list", members{"type": "specs"}}),
			find:     []string{"list main specs and their requirements"},
			describe: []string{"openspec_list"},
			attempts: []string{`return JSON.stringify(await tools.openspec_list({type: "specs"})).slice(0, 300)`},
			script:   `const {specs} = await tools.openspec_list({type: "specs"}); return specs.filter((s) => s.requirementCount > 4).map((s) => s.id)`,
		},
		{
			question: "Which active changes touch one capability?",
			want:     touching,
			direct:   turns(deltas),
			find:     []string{"find files by name"},
			describe: []string{"search_files"},
			attempts: []string{`return JSON.stringify(await tools.search_files({path: "openspec/changes", pattern: "*/specs/` + hub + `/spec.md"})).slice(0, 300)`},
			script:   `const {content} = await tools.search_files({path: "openspec/changes", pattern: "*/specs/` + hub + `/spec.md"}); return content.split("\n").map((p) => p.split("/").at(-4))`,
		},
		{
			question: "Which active changes remove a requirement of one capability?",
			want:     keys(p.changes, func(c contextChange) bool { return !c.archived && slices.Contains(c.removes, hub) }, changeName),
			direct:   [][]contextCall{{deltas}, each(touching, show)},
			find:     []string{"show the deltas of a change", "list active changes"},
			search:   []string{"show the deltas of a change", "find files by name"},
			describe: []string{"openspec_show", "openspec_list_changes"},
			attempts: []string{`const {changes} = await tools.openspec_list_changes({}); return tools.openspec_show({name: changes[0].name})`},
			script: `const {changes} = await tools.openspec_list_changes({});
const all = await Promise.all(changes.map(({name}) => tools.openspec_show({name, type: "change"})));
return all.filter((c) => c.deltas.some((d) => d.spec === "` + hub + `" && d.operation === "REMOVED")).map((c) => c.id)`,
		},
	}
}

func packageTasks(p *contextProject) []contextTask {
	billing := func(k contextPackage) bool { return k.keywords[0] == "billing" }
	const lock = ".aam/aam-lock.yaml"
	return []contextTask{
		{
			question: "On which installed packages do more than five others depend?",
			want:     keys(p.packages, func(k contextPackage) bool { return p.dependents(k.name) > 5 }, packageName),
			direct:   turns(readPath(lock)),
			find:     []string{"list installed packages", "details of a package with its dependencies"},
			describe: []string{"aam_list", "aam_info"},
			attempts: []string{`const r = await tools.aam_list({}); return JSON.stringify(r).slice(0, 400)`, `return tools.aam_info({package_name: "queue-kit-0"})`,
				`const {result} = await tools.aam_list({}); return [result.length, await tools.aam_info({package_name: result[40].name})]`},
			search: []string{"read a text file"},
			script: `const {result} = await tools.aam_list({});
const all = await Promise.all(result.map((p) => tools.aam_info({package_name: p.name})));
const count = {};
for (const p of all) for (const d of Object.keys(p.dependencies)) count[d] = (count[d] ?? 0) + 1;
return Object.keys(count).filter((d) => count[d] > 5)`,
		},
		{
			question: "For which installed packages for billing does the registry have a newer version?",
			want:     keys(p.packages, func(k contextPackage) bool { return billing(k) && k.version != k.registry }, packageName),
			direct:   [][]contextCall{{searchPackages("billing"), {"aam_list", nil}}},
			find:     []string{"search packages in the registry", "list installed packages"},
			describe: []string{"aam_search", "aam_list"},
			attempts: []string{`return tools.aam_search({query: "billing", limit: 1000})`, `return [await tools.aam_search({query: "billing", limit: 1}), JSON.stringify(await tools.aam_list({})).slice(0, 300)]`},
			script: `const [found, list] = await Promise.all([tools.aam_search({query: "billing", limit: 50}), tools.aam_list({})]);
const installed = Object.fromEntries(list.result.map((p) => [p.name, p.version]));
return found.result.filter((p) => installed[p.name] && installed[p.name] !== p.version).map((p) => p.name)`,
		},
		{
			question: "On which packages for billing does no installed package depend?",
			want:     keys(p.packages, func(k contextPackage) bool { return billing(k) && p.dependents(k.name) == 0 }, packageName),
			direct:   [][]contextCall{{searchPackages("billing"), readPath(lock)}},
			find:     []string{"search packages in the registry", "list installed packages", "details of a package with its dependencies"},
			search:   []string{"search packages in the registry", "read a text file"},
			describe: []string{"aam_search", "aam_list", "aam_info"},
			attempts: []string{`const {result} = await tools.aam_search({query: "billing", limit: 1}); return [result, await tools.aam_info({package_name: result[0].name}), JSON.stringify(await tools.aam_list({})).slice(0, 300)]`},
			script: `const [found, list] = await Promise.all([tools.aam_search({query: "billing", limit: 50}), tools.aam_list({})]);
const all = await Promise.all(list.result.map((p) => tools.aam_info({package_name: p.name})));
const needed = new Set(all.flatMap((p) => Object.keys(p.dependencies)));
return found.result.map((p) => p.name).filter((n) => !needed.has(n))`,
		},
	}
}

func promptTasks(p *contextProject) []contextTask {
	mobile := keys(p.sources, func(s contextSource) bool { return strings.HasPrefix(s.path, "src/mobile/") }, sourcePath)
	return []contextTask{
		{
			question: "Which prompts have no description?",
			want:     keys(p.prompts, func(k contextPrompt) bool { return k.description == "" }, promptName),
			direct:   turns(contextCall{"export_project", nil}),
			find:     []string{"export prompts"},
			describe: []string{"export_project"},
			attempts: []string{`return JSON.stringify(await tools.export_project({})).slice(0, 400)`},
			script:   `const {prompts} = await tools.export_project({}); return prompts.filter((p) => !p.description).map((p) => p.name)`,
		},
		{
			question: "Which deployed prompts were changed by hand?",
			want:     p.modified,
			direct:   turns(contextCall{"status", members{"only": []string{"modified"}}}),
			find:     []string{"which deployed files differ from the config repo"},
			describe: []string{"status"},
			attempts: []string{`return JSON.stringify(await tools.status({only: ["modified"]})).slice(0, 800)`},
			script:   `const {data} = await tools.status({only: ["modified"]}); return data.drift.map((d) => d.path.split("/").at(-1).replace(".md", ""))`,
		},
		{
			question: "Which source files for mobile have a TODO?",
			want: keys(p.sources, func(s contextSource) bool {
				return slices.Contains(mobile, s.path) && strings.Contains(s.content, "TODO")
			}, sourcePath),
			direct:   turns(contextCall{"list_directory", members{"path": "src/mobile"}}, readPaths(mobile)),
			find:     []string{"list a directory's files", "read many files"},
			describe: []string{"list_directory", "read_text_file"},
			attempts: []string{`const {content} = await tools.list_directory({path: "src/mobile"}); return [content.slice(0, 200), await tools.read_text_file({path: "src/mobile/" + content.split("\n")[0].slice(7)})]`},
			script: `const {content} = await tools.list_directory({path: "src/mobile"});
const paths = content.split("\n").map((l) => "src/mobile/" + l.replace("[FILE] ", ""));
const all = await Promise.all(paths.map((p) => tools.read_text_file({path: p})));
return paths.filter((p, i) => all[i].content.includes("TODO"))`,
		},
	}
}

// mixedTasks need three or more tools.
func mixedTasks(p *contextProject) []contextTask {
	failed, busy := p.areaOf("failed"), p.areaOf("in_progress")
	ofArea := func(area string) func(string) bool {
		return func(name string) bool { return strings.HasPrefix(name, area+"-") }
	}
	finished := keys(p.changes, contextChange.finished, changeName)
	sources := keys(p.sources, func(s contextSource) bool { return strings.HasPrefix(s.path, "src/"+busy+"/") }, sourcePath)
	things := map[string]bool{}
	for _, k := range p.packages {
		if k.keywords[0] == failed {
			things[strings.Split(k.name, "-")[0]] = true
		}
	}
	touched := func(name string) bool {
		return slices.ContainsFunc(p.changes, func(c contextChange) bool { return !c.archived && slices.Contains(c.touches, name) })
	}
	const listFailed = `const {specs} = await tools.chant_spec_list({status: "failed", limit: 2000});
` + topArea
	return []contextTask{
		{
			question: "Which outdated packages are for the area with the most failed specs?",
			want:     keys(p.packages, func(k contextPackage) bool { return k.keywords[0] == failed && k.version != k.registry }, packageName),
			direct:   [][]contextCall{{listSpecs("failed")}, {searchPackages(failed), {"aam_list", nil}}},
			find:     []string{"list specs by status and label", "search packages in the registry", "list installed packages"},
			describe: []string{"chant_spec_list", "aam_search", "aam_list"},
			attempts: []string{`return [await tools.chant_spec_list({status: "failed", limit: 1}), await tools.aam_search({query: "billing", limit: 1}), JSON.stringify(await tools.aam_list({})).slice(0, 300)]`},
			script: listFailed + `const [found, list] = await Promise.all([tools.aam_search({query: area, limit: 50}), tools.aam_list({})]);
const installed = Object.fromEntries(list.result.map((p) => [p.name, p.version]));
return found.result.filter((p) => installed[p.name] && installed[p.name] !== p.version).map((p) => p.name)`,
		},
		{
			question: "Which source files of the area with the most specs in progress have a TODO?",
			want: keys(p.sources, func(s contextSource) bool {
				return slices.Contains(sources, s.path) && strings.Contains(s.content, "TODO")
			}, sourcePath),
			direct:   turns(listSpecs("in_progress"), contextCall{"list_directory", members{"path": "src/" + busy}}, readPaths(sources)),
			find:     []string{"list specs by status and label", "list a directory's files", "read many files"},
			describe: []string{"chant_spec_list", "list_directory", "read_text_file"},
			attempts: []string{`const {content} = await tools.list_directory({path: "src/mobile"}); return [await tools.chant_spec_list({limit: 1}), content.slice(0, 200), await tools.read_text_file({path: "src/mobile/" + content.split("\n")[0].slice(7)})]`},
			script: `const {specs} = await tools.chant_spec_list({status: "in_progress", limit: 2000});
` + topArea + `const {content} = await tools.list_directory({path: "src/" + area});
const paths = content.split("\n").map((l) => "src/" + area + "/" + l.replace("[FILE] ", ""));
const all = await Promise.all(paths.map((p) => tools.read_text_file({path: p})));
return paths.filter((p, i) => all[i].content.includes("TODO"))`,
		},
		{
			question: "Which finished active changes touch a capability of the area with the most failed specs?",
			want:     keys(p.changes, func(c contextChange) bool { return c.finished() && slices.ContainsFunc(c.touches, ofArea(failed)) }, changeName),
			direct:   [][]contextCall{{listSpecs("failed"), {"openspec_list_changes", nil}}, each(finished, show)},
			find:     []string{"list specs by status and label", "show the deltas of a change", "list active changes"},
			describe: []string{"chant_spec_list", "openspec_show", "openspec_list_changes"},
			attempts: []string{`const {changes} = await tools.openspec_list_changes({}); return [await tools.chant_spec_list({limit: 1}), changes[0], await tools.openspec_show({name: changes[0].name})]`},
			script: listFailed + `const {changes} = await tools.openspec_list_changes({});
const all = await Promise.all(changes.filter((c) => c.completedTasks === c.totalTasks).map(({name}) => tools.openspec_show({name, type: "change"})));
return all.filter((c) => c.deltas.some((d) => d.spec.startsWith(area + "-"))).map((c) => c.id)`,
		},
		{
			question: "Which prompts begin with the same word as a package for the area with the most failed specs?",
			want:     keys(p.prompts, func(k contextPrompt) bool { return things[strings.Split(k.name, "-")[0]] }, promptName),
			direct:   [][]contextCall{{listSpecs("failed")}, {searchPackages(failed), {"export_project", nil}}},
			find:     []string{"list specs by status and label", "search packages in the registry", "export prompts"},
			describe: []string{"chant_spec_list", "aam_search", "export_project"},
			attempts: []string{`return [await tools.chant_spec_list({limit: 1}), await tools.aam_search({query: "billing", limit: 1}), JSON.stringify(await tools.export_project({})).slice(0, 400)]`},
			script: listFailed + `const [found, exported] = await Promise.all([tools.aam_search({query: area, limit: 50}), tools.export_project({})]);
const words = new Set(found.result.map((p) => p.name.split("-")[0]));
return exported.prompts.map((p) => p.name).filter((n) => words.has(n.split("-")[0]))`,
		},
		{
			question: "Which capabilities of the area with the most failed specs does no active change touch?",
			want: keys(p.capabilities, func(c contextCapability) bool { return ofArea(failed)(c.name) && !touched(c.name) }, func(c contextCapability) string {
				return c.name
			}),
			direct: [][]contextCall{{listSpecs("failed")}, {{"openspec_list", members{"type": "specs"}},
				{"search_files", members{"path": "openspec/changes", "pattern": "*/specs/" + failed + "-*/spec.md"}}}},
			find:     []string{"list specs by status and label", "list main specs and their requirements", "find files by name"},
			describe: []string{"chant_spec_list", "openspec_list", "search_files"},
			attempts: []string{`return [await tools.chant_spec_list({limit: 1}), JSON.stringify(await tools.openspec_list({type: "specs"})).slice(0, 300), (await tools.search_files({path: "openspec/changes", pattern: "*/specs/*/spec.md"})).content.slice(0, 300)]`},
			script: listFailed + "const [{specs: main}, {content}] = await Promise.all([tools.openspec_list({type: \"specs\"}), tools.search_files({path: \"openspec/changes\", pattern: `*/specs/${area}-*/spec.md`})]);\n" +
				`const touched = new Set(content.split("\n").map((p) => p.split("/").at(-2)));
return main.map((s) => s.id).filter((id) => id.startsWith(area + "-") && !touched.has(id))`,
		},
	}
}

// called returns the names of the tools that direct calls, and of those that the scripts call.
func (task contextTask) called() (direct, scripts []string) {
	for _, calls := range task.direct {
		for _, c := range calls {
			direct = append(direct, c.tool)
		}
	}
	for _, match := range toolInScript.FindAllStringSubmatch(strings.Join(append(task.attempts, task.script), "\n"), -1) {
		scripts = append(scripts, match[1])
	}
	slices.Sort(direct)
	slices.Sort(scripts)
	return slices.Compact(direct), slices.Compact(scripts)
}

var toolInScript = regexp.MustCompile(`\btools\.(\w+)\(`)
