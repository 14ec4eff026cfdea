//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tokens"
)

// contextModel counts what a model reads and writes of a server: the list of tools, the instructions, the arguments of its calls, and the
// texts of their results.
type contextModel struct {
	*server
	list   int // tokens of the list and the instructions
	tokens int // of the current task
	trips  int
	found  string // by find_tools, in all tasks so far
	// Whether tools are found by find_tools before they are called, and whether read_tool calls them.
	searches, reads bool
}

var contextModes = []string{"all", "search", "code"}

func startContextModel(t *testing.T, user *testUser, runner, mode string) *contextModel {
	t.Helper()
	m := &contextModel{server: user.serve("--allow-write", "--tools", mode, "--plugins", runner), searches: mode != "all", reads: mode == "search"}
	var hello struct{ Result struct{ Instructions string } }
	m.decodeAnswer(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, &hello)
	m.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var listed struct {
		Result struct {
			Tools []struct {
				Name, Description string
				InputSchema       json.RawMessage
			}
		}
	}
	m.decodeAnswer(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, &listed)
	list := &tokens.List{}
	for _, tool := range listed.Result.Tools {
		list.Add(tool.Name, tool.Description, tool.InputSchema)
	}
	m.list = list.Tokens + tokens.Estimate(hello.Result.Instructions)
	return m
}

func (m *contextModel) decodeAnswer(line string, into any) {
	m.t.Helper()
	if answer := m.ask(line); json.Unmarshal([]byte(answer), into) != nil {
		m.t.Fatalf("no answer to %s: %s", line, answer)
	}
}

// turn makes the calls of a turn of the model and returns the results' texts.
func (m *contextModel) turn(calls ...contextCall) (texts []string) {
	m.t.Helper()
	m.trips++
	for _, c := range calls {
		for _, c := range c.alone() {
			if m.reads && !isHostTool(c.Tool) {
				c = contextCall{Tool: "read_tool", Args: members{"name": c.Tool, "arguments": emptyIfNil(c.Args)}}
			}
			arguments := jsonOf(m.t, emptyIfNil(c.Args))
			got := m.call(c.Tool, arguments)
			m.tokens += tokens.Estimate(c.Tool) + tokens.Estimate(arguments) + tokens.Estimate(got.Text)
			if texts = append(texts, got.Text); got.IsError || got.Code != 0 {
				m.t.Errorf("%s %.300s fails: %.300s", c.Tool, arguments, got.Text)
			}
		}
	}
	return texts
}

func emptyIfNil(args members) members {
	if args == nil {
		return members{}
	}
	return args
}

func isHostTool(name string) bool {
	return slices.Contains([]string{"find_tools", "describe_tools", "run_script"}, name)
}

// solve repeats the calls of a task. In the modes search and code, a tool that is called must be among those that find_tools has found, in this
// task or one before. The value of the last script must be the answer, and results of other calls must have every part of it.
func (m *contextModel) solve(task contextTask, mode string) {
	m.t.Helper()
	m.tokens, m.trips = m.list, 0
	var results, last []string
	for _, turn := range task.turns[mode] {
		last = m.turn(turn...)
		switch turn[0].Tool {
		case "find_tools":
			m.found += "\n" + strings.Join(last, "\n")
		case "describe_tools":
		default:
			results = append(results, last...)
			m.wantFound(turn)
		}
	}
	if mode == "code" {
		m.wantValue(last[len(last)-1], task.want)
		return
	}
	text := strings.Join(results, "\n")
	for _, part := range task.want {
		if !strings.Contains(text, part) {
			m.t.Fatalf("the results do not have %s: %.500s", part, text)
		}
	}
}

func (m *contextModel) wantFound(turn []contextCall) {
	m.t.Helper()
	for _, c := range turn {
		called := []string{c.Tool}
		if c.Tool == "run_script" {
			called = nil
			for _, match := range toolInScript.FindAllStringSubmatch(c.Args["code"].(string), -1) {
				called = append(called, match[1])
			}
		}
		for _, name := range called {
			if m.searches && !strings.Contains(m.found, "\n"+name+"(") {
				m.t.Errorf("find_tools has not found %s", name)
			}
		}
	}
}

var toolInScript = regexp.MustCompile(`\btools\.(\w+)\(`)

func (m *contextModel) wantValue(result string, want []string) {
	m.t.Helper()
	var got struct{ Value []string }
	if err := json.Unmarshal([]byte(result), &got); err != nil {
		m.t.Fatalf("%v: %.500s", err, result)
	}
	want = slices.Sorted(slices.Values(want))
	slices.Sort(got.Value)
	if !slices.Equal(got.Value, want) || len(want) == 0 {
		m.t.Errorf("got %d: %.500q\nwant %d: %.500q", len(got.Value), got.Value, len(want), want)
	}
}

// TestTasksInEachMode repeats the calls that solve tasks in each mode of the list of tools, compares the answers with what was generated,
// and logs what each way costs. docs/context.md has the table.
func TestTasksInEachMode(t *testing.T) {
	runner := otherPlugin(t, "script")
	p := newContextProject()
	user := newTestUser(t, p.files)
	models := map[string]*contextModel{}
	for _, mode := range contextModes {
		models[mode] = startContextModel(t, user, runner, mode)
	}
	models["all"].mustCall("import_project", jsonOf(t, members{"content": jsonOf(t, p.exported())}))
	cost, trips := map[string][]int{}, map[string][]int{}
	var table strings.Builder
	for _, task := range contextTasks(t, p, user.project) {
		row := ""
		t.Run(task.question, func(t *testing.T) {
			for _, mode := range contextModes {
				m := models[mode]
				m.t = t
				m.solve(task, mode)
				cost[mode], trips[mode] = append(cost[mode], m.tokens), append(trips[mode], m.trips)
				row += fmt.Sprintf(" %d | %d |", m.tokens, m.trips)
			}
		})
		fmt.Fprintf(&table, "| %s |%s\n", task.question, row)
	}
	table.WriteString("| **median** |")
	for _, mode := range contextModes {
		fmt.Fprintf(&table, " %d | %d |", median(cost[mode]), median(trips[mode]))
	}
	t.Logf("lists and instructions: all %d, search %d, code %d tokens\n%s", models["all"].list, models["search"].list, models["code"].list, &table)
	if models["code"].list >= 500 {
		t.Errorf("the list of the mode code costs %d tokens", models["code"].list)
	}
	if 5*median(cost["code"]) > median(cost["all"]) {
		t.Errorf("the median task costs %d tokens in the mode code, and %d in the mode all", median(cost["code"]), median(cost["all"]))
	}
}

func median(of []int) int {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
