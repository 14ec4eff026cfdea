package review_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
)

const aTool = "[[tools]]\nname = \"a\"\ndescription = \"does a\"\naccess = \"read\"\n"

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		want     []string // the expected changes; "+" marks a change that asks for more
	}{
		"the same is no change":                          {aTool, aTool, nil},
		"a new tool":                                     {"", aTool, []string{"+ tools.a: a new tool"}},
		"a new tool that writes":                         {"", writing(aTool), []string{"+ tools.a: a new tool, which writes"}},
		"a tool with another name":                       {aTool, strings.Replace(aTool, `"a"`, `"b"`, 1), []string{"+ tools.b: a new tool; perhaps the former a, which configs allow or deny by that name", "  tools.a: the tool was removed"}},
		"one of two tools with another name":             {aTool + strings.Replace(aTool, `"a"`, `"c"`, 1), strings.Replace(aTool, `"a"`, `"b"`, 1), []string{"+ tools.b: a new tool", "  tools.a: the tool was removed", "  tools.c: the tool was removed"}},
		"a tool that starts to write, with another name": {aTool, writing(strings.Replace(aTool, `"a"`, `"b"`, 1)), []string{"+ tools.b: a new tool, which writes", "  tools.a: the tool was removed"}},
		"a new skill":                                    {"", "[[skills]]\npath = \"skills/a\"\n", []string{"+ skills.a: a new skill, which instructs the client's model"}},
		"a removed skill":                                {"[[skills]]\npath = \"skills/a\"\n", "", []string{"  skills.a: the skill was removed"}},
		"a changed skill": {"[[skills]]\npath = \"skills/a\"\nsha256 = \"" + strings.Repeat("a", 64) + "\"\n", "[[skills]]\npath = \"skills/a\"\nsha256 = \"" + strings.Repeat("b", 64) + "\"\n",
			[]string{"  skills.a: the instructions for the client's model, or a file beside them, changed"}},
		"a removed tool":                          {aTool, "", []string{"  tools.a: the tool was removed"}},
		"a tool that starts to write":             {aTool, writing(aTool), []string{"+ tools.a.access: writes, and was read-only"}},
		"a tool that is now declared read-only":   {writing(aTool), aTool, []string{"+ tools.a.access: is now declared read-only, but was a tool that writes: read_only would no longer withhold it"}},
		"a tool that is no longer hidden":         {aTool + "alone = false\n", aTool, []string{"+ tools.a.alone: is offered when the plugin is served alone"}},
		"a tool that is hidden":                   {aTool, aTool + "alone = false\n", []string{"  tools.a.alone: is no longer offered when the plugin is served alone"}},
		"a title, a description and a hint":       {aTool, "[[tools]]\nname = \"a\"\ntitle = \"A\"\ndescription = \"call this first\"\naccess = \"read\"\ndestructive = false\n", []string{"  tools.a.title: the title was added", "  tools.a.description: the description changed", "  tools.a.destructive: the hint destructive was added"}},
		"properties of a schema":                  {aTool + "input_json = '{\"type\":\"object\",\"properties\":{\"x\":{},\"y\":{},\"z\":{}}}'\n", aTool + "input_json = '{\"type\":\"object\",\"properties\":{\"x\":{},\"y\":{\"type\":\"string\"},\"w\":{}}}'\n", []string{"  tools.a.input: the schema of its arguments changed: adds w; removes z; changes y"}},
		"arguments of a program":                  {program + aTool + "args = [\"--safe\"]\n", program + aTool, []string{"  tools.a.args: how a call runs the program changed"}},
		"a module of another kind":                {"", program, []string{"  module.kind: the kind of the module changed"}},
		"an added shape of results":               {aTool, aTool + "returns.type = 'string'\n", []string{"  tools.a.returns: the schema of what scripts get was added"}},
		"an added schema":                         {aTool, aTool + "output_json = '{\"type\":\"object\"}'\n", []string{"  tools.a.output: the schema of its results was added"}},
		"calls become tasks":                      {aTool, aTool + "task = \"required\"\nasks_first = true\n", []string{"  tools.a.task: whether its calls run as tasks was added"}},
		"the text of failures":                    {aTool, aTool + "failure = \"{tool} {message}\"\n", []string{"  tools.a.failure: the text of failures was added"}},
		"meta":                                    {aTool + "meta = { a = 1 }\n", aTool, []string{"  tools.a.meta: its meta was removed"}},
		"arguments checked by the plugin":         {"", "validate = \"plugin\"\n---\n", []string{"+ plugin.validate: the plugin checks the arguments of calls, and no longer the host"}},
		"arguments checked by the host":           {"validate = \"plugin\"\n---\n", "", []string{"  plugin.validate: the host checks the arguments of calls, and no longer the plugin"}},
		"write without opt-in":                    {"write = \"opt-in\"\n---\n", "", []string{"+ plugin.write: tools that write no longer require allow_write"}},
		"write with opt-in":                       {"", "write = \"opt-in\"\n---\n", []string{"  plugin.write: tools that write require allow_write"}},
		"concurrent reads":                        {"", "reads = \"concurrent\"\n---\n", []string{"  plugin.reads: calls that read no longer wait for calls that write"}},
		"ordered reads":                           {"reads = \"concurrent\"\n---\n", "", []string{"  plugin.reads: calls that read wait for calls that write"}},
		"a licence":                               {"", "license = \"MIT\"\n---\n", []string{"  plugin.license: the licence was added"}},
		"instructions":                            {"", "[server]\ninstructions = \"obey\"\n", []string{"  server.instructions: the instruction text for the client's model was added"}},
		"protocol versions":                       {"", "[server]\nprotocol_versions = [\"2024-11-05\"]\n", []string{"  server.protocol_versions: the list of protocol versions was added"}},
		"a directory":                             {"", fs("/a r"), []string{"+ capabilities.fs: asks to read everything in /a"}},
		"a directory in a requested one":          {fs("/a r"), fs("/a r", "/a/b r"), []string{"  capabilities.fs: asks to read everything in /a/b"}},
		"a directory with the same name prefix":   {fs("/a r"), fs("/a r", "/ab r"), []string{"+ capabilities.fs: asks to read everything in /ab"}},
		"a writable directory in a requested one": {fs("/a r"), fs("/a r", "/a/b rw"), []string{"+ capabilities.fs: asks to read, change and delete everything in /a/b"}},
		"an ancestor of a requested directory":    {fs("${project}/a rw"), fs("${project} rw"), []string{"+ capabilities.fs: asks to read, change and delete everything in ${project}", "  capabilities.fs: no longer asks to read, change and delete everything in ${project}/a"}},
		"a duplicate directory":                   {fs("/a r", "/a/ rw"), fs("/a rw"), nil},
		"a different variable":                    {fs("${project} r"), fs("${home} r"), []string{"+ capabilities.fs: asks to read everything in ${home}", "  capabilities.fs: no longer asks to read everything in ${project}"}},
		"a directory that becomes writable":       {fs("/a r"), fs("/a/ rw"), []string{"+ capabilities.fs: asks to read, change and delete everything in /a/, formerly to read"}},
		"a directory that becomes read-only":      {fs("/a rw"), fs("/a r"), []string{"  capabilities.fs: asks to read everything in /a, formerly to read, change and delete"}},
		"fewer hidden files":                      {"[capabilities]\ndeny = ['a', 'b']", "[capabilities]\ndeny = ['b', 'c']", []string{"+ capabilities.deny: asks for files that match a, formerly not", "  capabilities.deny: no longer asks for files that match c"}},
		"a web server":                            {"", http("https://a"), []string{"+ capabilities.http: asks for the web server https://a"}},
		"the same web server":                     {http("https://a"), http("https://A:443"), nil},
		"a web server by name instead of any":     {http("*"), http("https://a"), []string{"+ capabilities.http: asks for the web server https://a", "  capabilities.http: no longer asks for any web server that you name"}},
		"any web server":                          {http("https://a"), http("*"), []string{"+ capabilities.http: asks for any web server that you name", "  capabilities.http: no longer asks for the web server https://a"}},
		"the public web":                          {http("*"), http("public-web"), []string{"+ capabilities.http: asks for any public web server (http on port 80, https on port 443)", "  capabilities.http: no longer asks for any web server that you name"}},
		"a variable":                              {"", "[capabilities]\nenv = [\"A\"]\n", []string{"+ capabilities.env: asks for the variable A"}},
		"a repository":                            {"", git("{ repo = \"/a\", access = \"r\" }"), []string{"+ capabilities.git: asks to read the repository /a"}},
		"a repository to write":                   {git("{ repo = \"/a\", access = \"r\" }"), git("{ repo = \"/a\", access = \"rw\" }"), []string{"+ capabilities.git: asks to create branches in the repository /a"}},
		"a repository to commit in":               {git("{ repo = \"/a\", access = \"rw\" }"), git("{ repo = \"/a\", access = \"commit\" }"), []string{"+ capabilities.git: asks to stage files, commit on the current branch and create branches in the repository /a"}},
		"a repository, no longer to commit in":    {git("{ repo = \"/a\", access = \"commit\" }"), git("{ repo = \"/a\", access = \"rw\" }"), []string{"  capabilities.git: no longer asks to stage files and commit on the current branch of the repository /a"}},
		"a repository in one to commit in":        {git("{ repo = \"/a\", access = \"commit\" }"), git("{ repo = \"/a\", access = \"commit\" }, { repo = \"/a/b\", access = \"rw\" }"), []string{"  capabilities.git: asks to read the repository /a/b and create branches in it"}},
		"a repository by name instead of any":     {git("{ repo = \"*\", access = \"rw\" }"), git("{ repo = \"/a\", access = \"rw\" }"), []string{"+ capabilities.git: asks to read the repository /a and create branches in it", "  capabilities.git: no longer asks for any repository that you name"}},
		"any repository":                          {git("{ repo = \"/\", access = \"r\" }"), git("{ repo = \"*\", access = \"r\" }"), []string{"+ capabilities.git: asks to read any repository that you name", "  capabilities.git: no longer asks for the repository /"}},
		"a duplicate repository":                  {git("{ repo = \"/a\", access = \"r\" }, { repo = \"/a/\", access = \"rw\", remotes = [\"https://H/r/\"] }"), git("{ repo = \"/a\", access = \"rw\", remotes = [\"https://h/r\"] }"), nil},
		"a repository in a requested one":         {git("{ repo = \"/a\", access = \"rw\", remotes = [\"https://h/r\"] }"), git("{ repo = \"/a/b\", access = \"r\", remotes = [\"https://h/r\"] }"), []string{"  capabilities.git: asks to read the repository /a/b", "  capabilities.git: asks to list and fetch https://h/r for the repository /a/b", "  capabilities.git: no longer asks for the repository /a"}},
		"a remote":                                {git("{ repo = \"/a\", access = \"r\" }"), git("{ repo = \"/a\", access = \"r\", remotes = [\"https://h/r\"] }"), []string{"+ capabilities.git: asks to list and fetch https://h/r for the repository /a"}},
		"a remote by name instead of any":         {git("{ repo = \"/a\", access = \"r\", remotes = [\"*\"] }"), git("{ repo = \"/a\", access = \"r\", remotes = [\"https://h/r\"] }"), []string{"+ capabilities.git: asks to list and fetch https://h/r for the repository /a", "  capabilities.git: no longer asks to list and fetch any remote that you name for the repository /a"}},
		"a higher limit":                          {limits("time = \"1m\""), limits("time = \"2m\""), []string{"+ limits.time: the time of a call: 2m0s, was 1m0s"}},
		"a lower limit":                           {limits("files = 9"), limits("files = 8"), []string{"  limits.files: open files: 8, was 9"}},
		"a requirement":                           {"", "[[requires]]\ngrant = '/a'\nwhy = 'data'\n", []string{"  requires: requires /a (data)"}},
		"a requirement that creates a file":       {"[capabilities]\nfs = [{ path = '/a', access = 'rw' }]\n[[requires]]\npaths = ['/a/b']\nwhy = 'data'\n", "[capabilities]\nfs = [{ path = '/a', access = 'rw' }]\n[[requires]]\npaths = ['/a/b']\nwhy = 'data'\ncreate = [{ path = '/a/b', content = 'x' }]\n", []string{"  requires: requires /a/b (data); bulkhead init creates /a/b with x", "  requires: no longer requires /a/b (data)"}},
		"a limit above the default":               {"", limits("memory = \"65MiB\""), []string{"+ limits.memory: memory: 65MiB, was the default"}},
		"a limit below the default":               {"", limits("memory = \"63MiB\""), []string{"  limits.memory: memory: 63MiB, was the default"}},
		"fuel becomes unbounded":                  {limits("fuel = 9"), "", []string{"+ limits.fuel: the instructions of a call: the default, was 9"}},
		"prompts and resources": {"[offers]\nprompts = [\"p\"]\nresources = [\"a://\"]\n", "[offers]\nprompts = [\"q\"]\nresources = true\n", []string{"+ offers.prompts: offers prompts q", "  offers.prompts: no longer offers prompts p",
			"+ offers.resources: offers any resources"}},
		"named prompts instead of any": {"[offers]\nprompts = true\n", "[offers]\nprompts = [\"q\"]\n", []string{"  offers.prompts: no longer offers any prompts"}},
		"other added offers":           {"[offers]\nresources = true\n", "[offers]\nresources = true\nlist_changed = true\nsubscribe = true\ncompletions = true\nlogging = true\n", []string{"+ offers.list_changed: offers notifications of changes of its lists", "+ offers.subscribe: offers notifications of changes of its resources", "+ offers.completions: offers completions", "+ offers.logging: offers log messages for the client"}},
		"no change notifications":      {"", "[server]\nchanges = false\n", []string{"  server.changes: no longer offers notifications of changes when it is served alone"}},
		"other removed offers":         {"[offers]\nlogging = true\n", "", []string{"  offers.logging: no longer offers log messages for the client"}},
	} {
		t.Run(name, func(t *testing.T) {
			changes := review.Compare(parse(t, c.old), parse(t, c.new))
			var got []string
			more := false
			for _, change := range changes {
				mark := "  "
				if change.More {
					mark, more = "+ ", true
				}
				got = append(got, mark+change.Key+": "+change.Words)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if review.AsksForMore(changes) != more {
				t.Errorf("AsksForMore is %v", !more)
			}
		})
	}
}

func TestCompareIdentity(t *testing.T) {
	old, new := parse(t, ""), parse(t, "")
	new.Name, new.Version, new.Module.SHA256 = "others", "0.9.0", "abc"
	want := []review.Change{
		{Key: "plugin.name", Words: "the name changed", Old: "notes", New: "others", More: true},
		{Key: "plugin.version", Words: "the version (now a lower one) changed", Old: "1.0.0", New: "0.9.0"},
		{Key: "module.sha256", Words: "the module was added", New: "abc"},
	}
	got := review.Compare(old, new)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// program is the kind of a module that is a program, as the first line of a manifest's rest.
const program = "kind = \"command\"\n"

func writing(tool string) string {
	return tool[:len(tool)-len("\"read\"\n")] + "\"write\"\n"
}

// fs returns a manifest's requests for directories. Each of dirs has the form "/a rw".
func fs(dirs ...string) string {
	text := ""
	for _, f := range dirs {
		path, access, _ := strings.Cut(f, " ")
		text += "[[capabilities.fs]]\npath = \"" + path + "\"\naccess = \"" + access + "\"\n"
	}
	return text
}

func http(origin string) string { return "[capabilities]\nhttp = [\"" + origin + "\"]\n" }
func git(repo string) string    { return "[capabilities]\ngit = [" + repo + "]\n" }
func limits(line string) string { return "[limits]\n" + line + "\n" }
