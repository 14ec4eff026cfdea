package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

//go:wasmimport bulkhead input
func hostInput(to unsafe.Pointer, size uint32)

//go:wasmimport bulkhead output
func hostOutput(from unsafe.Pointer, size uint32)

// derivations are the derive functions by number.
var derivations = []func(content []byte) []byte{
	0: func(content []byte) []byte { return fmt.Appendf(nil, "%x", sha256.Sum256(content)) },
	1: observe,
	2: func([]byte) []byte { panic("out of tea") },
	3: func([]byte) []byte {
		for i := 0; ; i++ {
			spun += i
		}
	},
	4: func([]byte) []byte { return nil },
	5: func([]byte) []byte { return make([]byte, 1<<20+1) },
	6: func([]byte) []byte { os.Exit(0); return nil },
	7: func(content []byte) []byte { time.Sleep(1000 * time.Hour); return content },
	8: func([]byte) []byte {
		for {
			held = append(held, make([]byte, 1<<20))
		}
	},
	9: func(content []byte) []byte { // tens of millions of instructions
		for i := range 1_000_000 {
			spun += i * i
		}
		return content
	},
}

// derive is exported without the SDK, as a hostile module may do it. It treats the derivation of empty content before the
// snapshot like any other.
//
//go:wasmexport bulkhead_derive
func derive(function, size uint32) {
	content := make([]byte, size+1)
	hostInput(unsafe.Pointer(unsafe.SliceData(content)), size)
	if out := derivations[function](content[:size]); len(out) > 0 {
		hostOutput(unsafe.Pointer(unsafe.SliceData(out)), uint32(len(out)))
	}
}

// observe returns everything that could differ between two derivations, and leaves state behind.
func observe(content []byte) []byte {
	random := make([]byte, 100_000)
	_, err := rand.Read(random)
	began := time.Now()
	time.Sleep(time.Minute)
	seen := []any{
		"content", string(content), "random", sha256.Sum256(random), fmt.Sprint(err), mathrand.Uint64(),
		"clock", began.UnixNano(), time.Now().UnixNano(), time.Since(began),
		"env", os.Environ(), "args", os.Args,
		"calls", calls, "held", len(held), "spun", spun, "left", left != nil,
	}
	for _, path := range []string{"/", ".", "/etc/passwd", "/dev/stdin", os.Getenv("PWD")} {
		_, err := os.ReadDir(path)
		_, rerr := os.ReadFile(path)
		seen = append(seen, path, fmt.Sprint(err), fmt.Sprint(rerr), fmt.Sprint(os.WriteFile(path+"/x", content, 0o600)))
	}
	for fd := range 6 {
		var stat syscall.Stat_t
		err := syscall.Fstat(fd, &stat)
		read, rerr := syscall.Read(fd, make([]byte, 10))
		seen = append(seen, fd, fmt.Sprint(stat), fmt.Sprint(err), read, fmt.Sprint(rerr), fmt.Sprint(syscall.SetNonblock(fd, true)), fmt.Sprint(syscall.Close(fd)))
	}
	var echoed string
	for _, op := range []string{"test/echo", "git/top_level", "http/fetch", "lock", "notify"} {
		seen = append(seen, op, fmt.Sprint(sdk.HostCall(op, "x", &echoed)), echoed)
	}
	for key := range map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true} {
		seen = append(seen, key)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	seen = append(seen, memory.HeapAlloc, memory.Sys, memory.NumGC, memory.PauseNs)
	calls++
	held = append(held, []byte(strings.Repeat("x", 1+len(content)%7*400_000)))
	spun += len(content)
	fmt.Println("said", calls)
	sdk.Log(sdk.LevelError, "logged %d", calls)
	out, _ := json.Marshal(seen)
	return out
}
