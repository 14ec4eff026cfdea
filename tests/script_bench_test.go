//go:build linux

package tests

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkScript compares ten reads at the same time by a script with the same ones that a client pipelines, in one run:
//
//	BULKHEAD_TESTS=all go test ./tests -run '^$' -bench '^BenchmarkScript$' -benchtime 100x
//
// "empty" is a script without calls. "cpu" is processor time of the server and its workers, and "cpu-ms-beside" what a script takes beside its
// calls.
func BenchmarkScript(b *testing.B) {
	s, project := serveScripts(b, "")
	arguments := jsonOf(b, map[string]any{"path": project + "/a.txt"})
	ten := jsonOf(b, map[string]any{"code": "const all = []; for (let i = 0; i < 10; i++) all.push(tools.read_text_file(args)); return (await Promise.all(all)).length",
		"arguments": map[string]any{"path": project + "/a.txt"}})
	ways := map[string]func(){
		"pipelined": func() {
			for range 10 {
				s.sendCall("read_text_file", arguments)
			}
			for range 10 {
				s.nextAnswer()
			}
		},
		"script": func() { s.mustCall("run_script", ten) },
		"empty":  func() { s.mustCall("run_script", `{"code":"return 1"}`) },
	}
	for _, run := range ways {
		run() // starts the workers
	}
	const inTurn = 5 // runs of a way: processor time is counted in ticks, of 10 ms as a rule
	spent, ticks := map[string]time.Duration{}, map[string]int{}
	for range b.N {
		for name, run := range ways {
			before, began := s.ticks(), time.Now()
			for range inTurn {
				run()
			}
			spent[name] += time.Since(began)
			ticks[name] += s.ticks() - before
		}
	}
	runs := float64(b.N * inTurn)
	for name, all := range spent {
		b.ReportMetric(float64(all.Microseconds())/runs, "us-"+name)
		b.ReportMetric(float64(ticks[name])*tickMS/runs, "cpu-ms-"+name)
	}
	b.ReportMetric(float64(ticks["script"]-ticks["pipelined"])*tickMS/runs, "cpu-ms-beside")
	b.ReportMetric(float64(spent["script"])/float64(spent["pipelined"]), "script/pipelined")
}

// tickMS is the length of a tick of the processor time in /proc, in milliseconds (USER_HZ is 100 on all systems of today).
const tickMS = 10

// BenchmarkFirstScript is the first script of a client: a new worker process, whose module is compiled already.
//
//	BULKHEAD_TESTS=all go test ./tests -run '^$' -bench '^BenchmarkFirstScript$' -benchtime 20x
func BenchmarkFirstScript(b *testing.B) {
	users := []string{"warm"}
	for i := range b.N {
		users = append(users, fmt.Sprint("user-", i))
	}
	s := serveScriptTeam(b, "", "", users...)
	run := func(user string) {
		if got := scriptValueOf(s.run(user, "return 1")); got != "1" {
			b.Fatal(got)
		}
	}
	run("warm")
	before, began := s.ticks(), time.Now()
	for _, user := range users[1:] {
		run(user)
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000/float64(b.N), "ms-first")
	b.ReportMetric(float64(s.ticks()-before)*tickMS/float64(b.N), "cpu-ms-first")
}
