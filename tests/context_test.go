//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
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
	failed int // attempts of all tasks
}

func startContextModel(t *testing.T, user *testUser, runner, mode string) *contextModel {
	t.Helper()
	m := &contextModel{server: user.serve("--allow-write", "--tools", mode, "--plugins", runner)}
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
func (m *contextModel) turn(calls ...contextCall) (texts []string, failed bool) {
	m.t.Helper()
	m.trips++
	for _, c := range calls {
		arguments := "{}"
		if c.args != nil {
			arguments = jsonOf(m.t, c.args)
		}
		got := m.call(c.tool, arguments)
		m.tokens += tokens.Estimate(c.tool) + tokens.Estimate(arguments) + tokens.Estimate(got.Text)
		texts, failed = append(texts, got.Text), failed || got.IsError || got.Code != 0
	}
	return texts, failed
}

// find makes the calls of find_tools and describe_tools. The tools to be called must be among those that are found.
func (m *contextModel) find(queries, names, called []string) {
	m.t.Helper()
	var calls []contextCall
	for _, query := range queries {
		calls = append(calls, contextCall{"find_tools", members{"query": query}})
	}
	found, failed := m.turn(calls...)
	lines := "\n" + strings.Join(found, "\n")
	for _, name := range called {
		if failed || !strings.Contains(lines, "\n"+name+"(") || !slices.Contains(names, name) {
			m.t.Errorf("find_tools %q does not find %s, or %q lacks it:%s", queries, name, names, lines)
		}
	}
	if described, failed := m.turn(contextCall{"describe_tools", members{"names": names}}); failed {
		m.t.Errorf("describe_tools %v: %s", names, described)
	}
}

// callDirectly makes the calls of a task, of which the results must name every part of the answer. via is the tool that makes them, or
// empty.
func (m *contextModel) callDirectly(task contextTask, via string) {
	m.t.Helper()
	var all []string
	for _, calls := range task.direct {
		if via != "" {
			calls = slices.Clone(calls)
			for i, c := range calls {
				args := c.args
				if args == nil {
					args = members{}
				}
				calls[i] = contextCall{via, members{"name": c.tool, "arguments": args}}
			}
		}
		texts, failed := m.turn(calls...)
		if failed {
			m.t.Errorf("%.300s fails: %.300s", jsonOf(m.t, calls[0].args), texts)
		}
		all = append(all, texts...)
	}
	text := strings.Join(all, "\n")
	for _, part := range task.want {
		if !strings.Contains(text, part) {
			m.t.Fatalf("the results do not have %s: %.500s", part, text)
		}
	}
}

func (m *contextModel) runScripts(task contextTask) {
	m.t.Helper()
	for _, attempt := range task.attempts {
		if _, failed := m.turn(contextCall{"run_script", members{"code": attempt}}); failed {
			m.failed++
		}
	}
	texts, failed := m.turn(contextCall{"run_script", members{"code": task.script}})
	var got struct{ Value []string }
	if err := json.Unmarshal([]byte(texts[0]), &got); failed || err != nil {
		m.t.Fatalf("%v: %.500s", err, texts[0])
	}
	want := slices.Sorted(slices.Values(task.want))
	slices.Sort(got.Value)
	if !slices.Equal(got.Value, want) || len(want) == 0 {
		m.t.Errorf("got %d: %.500q\nwant %d: %.500q", len(got.Value), got.Value, len(want), want)
	}
}

// TestTasksInEachMode solves tasks in each mode of the list of tools, compares the answers with what was generated, and logs what each way
// costs. docs/context.md has the table. Each script must return the answer exactly; the results of direct calls must contain it.
func TestTasksInEachMode(t *testing.T) {
	runner := otherPlugin(t, "script")
	p := newContextProject()
	user := newTestUser(t, p.files)
	models := map[string]*contextModel{}
	modes := []string{"all", "search", "code"}
	for _, mode := range modes {
		models[mode] = startContextModel(t, user, runner, mode)
	}
	models["all"].mustCall("import_project", jsonOf(t, members{"content": jsonOf(t, p.exported())}))
	cost, trips := map[string][]int{}, map[string][]int{}
	var table strings.Builder
	for _, task := range contextTasks(p) {
		row := ""
		t.Run(task.question, func(t *testing.T) {
			for _, mode := range modes {
				m := models[mode]
				m.t, m.tokens, m.trips = t, m.list, 0
				direct, scripts := task.called()
				switch mode {
				case "all":
					m.callDirectly(task, "")
				case "search":
					queries := task.search
					if queries == nil {
						queries = task.find
					}
					m.find(queries, direct, direct)
					m.callDirectly(task, "read_tool")
				default:
					m.find(task.find, task.describe, scripts)
					m.runScripts(task)
				}
				cost[mode], trips[mode] = append(cost[mode], m.tokens), append(trips[mode], m.trips)
				row += fmt.Sprintf(" %d | %d |", m.tokens, m.trips)
			}
		})
		fmt.Fprintf(&table, "| %s |%s\n", task.question, row)
	}
	table.WriteString("| **median** |")
	for _, mode := range modes {
		fmt.Fprintf(&table, " %d | %d |", median(cost[mode]), median(trips[mode]))
	}
	t.Logf("lists and instructions: all %d, search %d, code %d tokens; failed attempts: %d\n%s", models["all"].list, models["search"].list, models["code"].list, models["code"].failed, &table)
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
