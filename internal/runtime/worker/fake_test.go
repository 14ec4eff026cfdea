//go:build unix

package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestMain(m *testing.M) {
	reexec.Run(map[string]reexec.Main{"fake": func([]string) int { return fakeWorker() }})
	os.Exit(m.Run())
}

// fake is a worker whose behaviour the method of each call selects.
type fake struct {
	stream net.Conn
	in     *wire.Reader
	out    *wire.Writer

	identity uint64

	mu   sync.Mutex
	held []uint32 // numbers of the calls to be answered later
	asks map[uint32]chan wire.Reply
}

// reports has the confinement reports of plugins whose workers send an invalid one, or "" for none.
var reports = map[string]string{"no report": "", "no JSON": "{", "no list": "{}", "null": "null"}

func fakeWorker() int {
	stream, err := net.FileConn(os.NewFile(socketFile, "host"))
	if err != nil {
		return 1
	}
	f := &fake{stream: stream, out: wire.NewWriter(stream), asks: map[uint32]chan wire.Reply{}, identity: rand.Uint64()}
	f.in = wire.NewReader(stream, func(wire.Type) int { return 1 << 30 })
	first, err := f.in.Next()
	if err != nil {
		return 1
	}
	var setup wire.Setup
	if err := json.Unmarshal(first.Payload, &setup); err != nil {
		return 1
	}
	switch setup.Plugin {
	case "silent":
		time.Sleep(time.Hour)
	case "broken":
		text, _ := json.Marshal(wire.Failure{Code: "invalid_module", Message: "cannot run: it is no module"})
		_ = f.out.Write(wire.TypeFailed, 0, text)
		return 1
	case "broken and hanging":
		text, _ := json.Marshal(wire.Failure{Code: "invalid_module", Message: "cannot run: it is no module"})
		_ = f.out.Write(wire.TypeFailed, 0, text)
		time.Sleep(time.Hour)
	case "operating while loading":
		_ = f.out.Write(wire.TypeReady, 0, []byte("[]"))
		_ = f.out.Write(wire.TypeOperation, 0, wire.Operation{Op: abi.OpClaims, Params: []byte("1")}.Encode()...)
		_, _ = f.in.Next()
	case "stale":
		text, _ := json.Marshal(wire.Failure{Code: "code_stale", Message: "cannot run: its code is of another machine"})
		_ = f.out.Write(wire.TypeFailed, 0, text)
		return 0
	case "garbage while loading":
		_ = f.out.Write(wire.TypeReady, 0, []byte("[]"))
		_ = f.out.Write(wire.TypeOperation, 0)
		_, _ = f.in.Next()
	case "garbage in the log":
		_ = f.out.Write(wire.TypeLog, 0, []byte{1})
	case "growing while loading":
		_ = f.out.Write(wire.TypeReady, 0, []byte("[]"))
		_ = f.out.Write(wire.TypeOperation, 0, wire.Operation{Op: wire.OpMemory, Params: []byte("104857600")}.Encode()...)
		if answer, err := f.in.Next(); err != nil || answer.Type != wire.TypeReply {
			return 1
		}
	case "crashing":
		fmt.Fprintln(os.Stderr, "fatal error: no luck")
		return 2
	case "killed at first", "killed at once":
		f.awaitKill(setup)
	case "early":
		_ = f.out.Write(wire.TypeResult, 1, []byte("{}"))
	}
	if report, other := reports[setup.Plugin]; !other {
		_ = f.out.Write(wire.TypeReady, 0, []byte("[]"))
	} else if report != "" {
		_ = f.out.Write(wire.TypeReady, 0, []byte(report))
	}
	if setup.Plugin == "killed while loading" {
		f.awaitKill(setup)
	}
	_ = f.out.Write(wire.TypeLoaded, 0)
	for {
		frame, err := f.in.Next()
		if err != nil {
			return 0
		}
		f.take(frame)
	}
}

// awaitKill waits until the test has killed this process, unless the plugin is "killed at first" and this is not the first process. A process
// cannot kill itself if it is the first one of a PID namespace.
func (f *fake) awaitKill(setup wire.Setup) {
	if items, _ := os.ReadDir(setup.Cwd); len(items) > 0 && setup.Plugin == "killed at first" {
		return
	}
	pid, err := os.Readlink("/proc/self") // the ID in the namespace of the test
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(setup.Cwd, pid), nil, 0o600); err != nil {
		panic(err)
	}
	time.Sleep(time.Hour)
	panic("nothing has ended the process")
}

func (f *fake) take(frame wire.Frame) {
	switch frame.Type {
	case wire.TypeCall:
		request, err := wire.DecodeRequest(frame.Payload)
		if err != nil {
			os.Exit(1)
		}
		f.call(frame.Call, request)
	case wire.TypeReply:
		reply, _ := wire.DecodeReply(frame.Payload)
		f.mu.Lock()
		waiting := f.asks[frame.Call]
		f.mu.Unlock()
		waiting <- reply
	case wire.TypeShort:
		_ = f.out.Write(wire.TypeReturn, 0, make([]byte, 8))
	case wire.TypeCancel:
		text, _ := json.Marshal(wire.Failure{Code: "canceled", Message: "was cancelled"})
		f.result(frame.Call, call.Failed, text)
	}
}

func (f *fake) result(number uint32, kind call.Kind, body []byte) {
	_ = f.out.Write(wire.TypeResult, number, wire.EncodeResult(call.Result{Kind: kind, Body: body})...)
}

func (f *fake) call(number uint32, r call.Request) {
	switch r.Method {
	case "echo":
		f.result(number, call.OK, r.Params)
	case "later": // hold as many calls as params says, then answer them in random order
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held = append(f.held, number)
		if fmt.Sprint(len(f.held)) == string(r.Params) {
			for _, i := range rand.Perm(len(f.held)) {
				f.result(f.held[i], call.OK, fmt.Appendf(nil, `{"n":%d}`, f.held[i]))
			}
			f.held = nil
		}
	case "hold": // do not answer until the worker ends or the call is cancelled
	case "write":
		_ = f.out.Write(wire.TypeWrote, number)
	case "who":
		f.result(number, call.OK, fmt.Appendf(nil, `{"n":%d}`, f.identity))
	case "ask":
		reply := make(chan wire.Reply)
		f.mu.Lock()
		f.asks[number] = reply
		f.mu.Unlock()
		_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: "op", Params: r.Params}.Encode()...)
		go func() { f.result(number, call.OK, (<-reply).Result) }()
	case "lock": // and then do what params says
		reply := make(chan wire.Reply)
		f.mu.Lock()
		f.asks[number] = reply
		f.mu.Unlock()
		_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: abi.OpLock, Params: []byte(`{"name":"n"}`)}.Encode()...)
		go func() {
			if <-reply; string(r.Params) == "echo" {
				f.result(number, call.OK, []byte("{}"))
			} else {
				f.misbehave(number, string(r.Params))
			}
		}()
	case "grow", "write and grow", "grow and write", "grow and go on": // after an operation without effects
		if r.Method == "write and grow" {
			_ = f.out.Write(wire.TypeWrote, number)
		}
		reply := make(chan wire.Reply)
		f.mu.Lock()
		f.asks[number] = reply
		f.mu.Unlock()
		_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: abi.OpClaims}.Encode()...)
		go func() {
			<-reply
			_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: wire.OpMemory, Params: r.Params}.Encode()...)
			answer := <-reply
			if r.Method == "grow and write" {
				_ = f.out.Write(wire.TypeWrote, number)
			}
			if answer.Error != nil && strings.HasSuffix(r.Method, "grow") {
				text, _ := json.Marshal(wire.Failure{Code: "memory", Message: "needs memory"})
				f.result(number, call.Failed, text)
				return
			}
			f.result(number, call.OK, []byte("{}"))
		}()
	case "ask forever":
		reply := make(chan wire.Reply)
		f.mu.Lock()
		f.asks[number] = reply
		f.mu.Unlock()
		go func() {
			for f.out.Write(wire.TypeOperation, number, wire.Operation{Op: abi.OpClaims}.Encode()...) == nil {
				<-reply
			}
		}()
	case "exit":
		os.Exit(3)
	case "hoard": // memory that no limit of the process bounds
		kept := make([]byte, 256<<20)
		for i := 0; i < len(kept); i += 4096 {
			kept[i] = 1
		}
		runtime.KeepAlive(kept)
	case "memory":
		fmt.Fprintln(os.Stderr, "fatal error: runtime: out of memory")
		os.Exit(2)
	default:
		f.misbehave(number, r.Method)
	}
}

// misbehave violates the protocol between host and worker.
func (f *fake) misbehave(number uint32, how string) {
	switch how {
	case "garbage":
		_, _ = f.stream.Write(bytes.Repeat([]byte{0xff}, 1<<16))
	case "unknown type":
		_ = f.out.Write(99, number)
	case "frame of the host":
		_ = f.out.Write(wire.TypeCall, number)
	case "result of another call":
		f.result(number+1000, call.OK, []byte("{}"))
	case "two results":
		f.result(number, call.OK, []byte("{}"))
		f.result(number, call.OK, []byte("{}"))
	case "short result":
		_ = f.out.Write(wire.TypeResult, number, []byte{0})
	case "kind":
		_ = f.out.Write(wire.TypeResult, number, append([]byte{9}, make([]byte, 16)...))
	case "large result":
		f.result(number, call.OK, bytes.Repeat([]byte(" "), 3<<20))
	case "half a frame":
		_, _ = f.stream.Write([]byte{200, 0, 0, 0, byte(number), 0, 0, 0, byte(wire.TypeResult), 'x'})
		_ = f.stream.Close()
	case "no JSON":
		f.result(number, call.OK, []byte("{\"a\":1}\n{"))
	case "no object":
		f.result(number, call.OK, []byte("17"))
	case "no UTF-8":
		f.result(number, call.OK, []byte("{\"\xff\":1}"))
	case "deep":
		f.result(number, call.OK, []byte(`{"content":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`))
	case "deep error":
		f.result(number, call.RPCError, []byte(`{"code":1,"message":"m","data":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`))
	case "deep ask":
		f.result(number, call.Asks, []byte(`{"state":"","x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`))
	case "infinite number":
		f.result(number, call.OK, []byte(`{"content":[],"structuredContent":{"n":1e999}}`))
	case "duplicate member":
		f.result(number, call.OK, []byte(`{"content":[],"resultType":"complete","ResultType":"input_required"}`))
	case "no error":
		f.result(number, call.RPCError, []byte("7"))
	case "no failure":
		f.result(number, call.Failed, []byte("{}"))
	case "two operations":
		_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: "hang"}.Encode()...)
		_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: "hang"}.Encode()...)
	case "result with an operation":
		_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: "hang"}.Encode()...)
		f.result(number, call.OK, []byte("{}"))
	case "log flood":
		for range 1 << 20 {
			_ = f.out.Write(wire.TypeLog, 0, wire.Log{Level: 3, Text: strings.Repeat("x", 1000)}.Encode())
		}
	case "derived flood":
		for range 1 << 10 {
			_ = f.out.Write(wire.TypeDerived, 0, make([]byte, 256<<10))
		}
	case "empty derived flood":
		for range 1 << 20 {
			_ = f.out.Write(wire.TypeDerived, 0)
		}
	case "more credit returned than granted":
		_ = f.out.Write(wire.TypeReturn, 0, bytes.Repeat([]byte{0x7f}, 8))
	case "short return of credit":
		_ = f.out.Write(wire.TypeReturn, 0, []byte{1})
	case "request for credit that is no number", "request for negative credit":
		params := map[string]string{"request for negative credit": "-1"}[how]
		_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: wire.OpMemory, Params: []byte(params)}.Encode()...)
	case "large derived frame":
		_ = f.out.Write(wire.TypeDerived, 0, make([]byte, wire.MaxDerived+1))
	case "derived":
		for range wire.DerivedPerCall >> 20 {
			_ = f.out.Write(wire.TypeDerived, 0, bytes.Repeat([]byte("x"), 1<<20))
		}
		f.result(number, call.OK, []byte("{}"))
	case "log garbage":
		_ = f.out.Write(wire.TypeLog, 0, []byte{1})
	case "record":
		_ = f.out.Write(wire.TypeRecord, number, wire.EncodeRecord(audit.Operation{Op: "op", Outcome: audit.OK, Count: 1}))
		f.result(number, call.OK, []byte("{}"))
	case "record garbage":
		_ = f.out.Write(wire.TypeRecord, number, []byte{1})
	case "stderr flood":
		for range 1 << 10 {
			fmt.Fprintln(os.Stderr, strings.Repeat("y", 1000))
		}
		f.result(number, call.OK, []byte("{}"))
	case "no reading":
		_ = f.out.Write(wire.TypeOperation, number, wire.Operation{Op: "large"}.Encode()...)
		time.Sleep(100 * time.Millisecond) // time for the host to write its reply
		f.result(number, call.OK, []byte("{}"))
		time.Sleep(time.Hour)
	case "abort":
		panic("worker fails")
	}
}
