//go:build unix

package tests

import (
	"strings"
	"testing"
)

// TestAttacksThroughToolsOfHostAreRefusedAndRecorded has clients find, describe and call tools that are withheld from them, by names that look
// like those of granted ones, and by the wrong tool of the host.
func TestAttacksThroughToolsOfHostAreRefusedAndRecorded(t *testing.T) {
	t.Parallel()
	a := serveAttackedHTTP(t, "tools = 'search'", "[[clients]]\nname = 'some'\nmatch = { tokens = ['bob'] }\nread_only = true\ndeny_tools = ['answer_job']\n[[clients]]\nname = 'all'\nmatch = { tokens = ['ann'] }\n")
	through := func(tool, name string) members {
		return members{"name": tool, "arguments": members{"name": name, "arguments": members{"text": "done"}}}
	}
	// A withheld tool looks like one that does not exist, in each answer.
	for withheld, absent := range map[string]string{"answer_write": "absent_write", "answer_job": "absent_job"} {
		for attack, params := range map[string]func(name string) members{
			"a direct call": func(name string) members { return members{"name": name, "arguments": members{"text": "done"}} },
			"read_tool":     func(name string) members { return through("read_tool", name) },
			"write_tool":    func(name string) members { return through("write_tool", name) },
			"a description": func(name string) members {
				return members{"name": "describe_tools", "arguments": members{"names": []string{name}}}
			},
			"one of two": func(name string) members {
				return members{"name": "describe_tools", "arguments": members{"names": []string{"answer", name}}}
			},
			"schemas": func(name string) members {
				return members{"name": "describe_tools", "arguments": members{"names": []string{name}, "format": "schema"}}
			},
			"a search": func(name string) members {
				return members{"name": "find_tools", "arguments": members{"query": strings.TrimPrefix(name, "answer_")}}
			},
			"a search for words": func(name string) members {
				return members{"name": "find_tools", "arguments": members{"query": "answer tool that writes, task client", "limit": 20}}
			},
		} {
			got, want := a.request("bob", "", "tools/call", params(withheld)), a.request("bob", "", "tools/call", params(absent))
			if strings.ReplaceAll(got, withheld, "NAME") != strings.ReplaceAll(want, absent, "NAME") || strings.Contains(got, "done") {
				t.Errorf("%s of %s: %s, and of a tool that does not exist: %s", attack, withheld, got, want)
			}
			if strings.Contains(attack, "_tool") || attack == "a direct call" {
				a.wantRecord(attack, `"kind":"refused"`, `"outcome":"denied"`, `"code":"unknown"`) // bob has no write_tool either
			}
		}
	}
	for _, attack := range []struct{ by, tool, name, want, code string }{
		{"ann", "read_tool", "answer_write", "writes: call it by write_tool", "writes"},
		{"ann", "write_tool", "answer", "only reads: call it by read_tool", "reads"},
		{"bob", "read_tool", "answer_write", "Unknown tool", "not_granted"},
		{"bob", "read_tool", "answer_job", "Unknown tool", "not_granted"},
		{"ann", "read_tool", "Answer", "Unknown tool", "unknown"},
		{"ann", "read_tool", "\u0430nswer", "Unknown tool", "unknown"},
		{"ann", "read_tool", "answer\u200b", "Unknown tool", "unknown"},
		{"ann", "read_tool", "answer\x00", "Unknown tool", "unknown"},
		{"ann", "read_tool", "answer ", "Unknown tool", "unknown"},
		{"ann", "write_tool", "answer_write\n", "Unknown tool", "unknown"},
		{"ann", "read_tool", "answers/answer", "Unknown tool", "unknown"},
		{"ann", "read_tool", "find_tools", "Unknown tool", "unknown"},
		{"ann", "read_tool", "run_script", "Unknown tool", "unknown"},
	} {
		got := a.request(attack.by, "", "tools/call", through(attack.tool, attack.name))
		if !strings.Contains(got, attack.want) || strings.Contains(got, "done") {
			t.Errorf("%s by %s: %s", attack.name, attack.tool, got)
		}
		a.wantRecord(attack.name, `"via":"`+attack.tool+`"`, `"outcome":"denied"`, `"code":"`+attack.code+`"`)
	}
	for name, arguments := range map[string]members{
		"large names": {"names": []string{strings.Repeat("answer", 100_000)}}, "many names": {"names": strings.Split(strings.Repeat("answer ", 21), " ")}, "a query": {"query": "answer"},
	} {
		if got := a.call("ann", "describe_tools", arguments); len(got) > 2000 || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: %d bytes: %.500s", name, len(got), got)
		}
	}
}
