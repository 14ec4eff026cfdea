package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

func spin(action) (string, error) {
	for rounds := 0; ; rounds++ {
		if rounds < 0 {
			return "overflow", nil
		}
	}
}

func recurse(a action) (string, error) {
	return fmt.Sprint(deeper(a.Count)), nil
}

// deeper recurses without end. The compiler cannot turn the recursion into a loop.
func deeper(n int) int {
	if n == -1 {
		return 0
	}
	return deeper(n+1) + n
}

var kept [][]byte

func grow(action) (string, error) {
	for {
		kept = append(kept, make([]byte, 1<<20))
	}
}

// hold keeps Count MiB and allocates as much garbage.
func hold(a action) (string, error) {
	var held [][]byte
	for range a.Count << 4 {
		held = append(held, make([]byte, 64<<10))
	}
	for range held {
		kept = [][]byte{make([]byte, 64<<10)}
	}
	return fmt.Sprintf("%d MiB", len(held)>>4), nil
}

func sleep(action) (string, error) {
	time.Sleep(time.Duration(1<<63 - 1))
	return "awake", nil
}

func exit(a action) (string, error) {
	os.Exit(a.Count)
	return "", nil
}

func crash(action) (string, error) { panic("out of tea\x1b[2J") }

// printOut prints JSON-RPC messages with a terminal escape sequence.
func printOut(a action) (string, error) {
	for range a.Count {
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` + "\x1b[2J")
	}
	return "printed", nil
}

// spawn starts Count goroutines.
func spawn(a action) (string, error) {
	done := make(chan string)
	for range a.Count {
		go func() { done <- strings.Repeat("x", 10) }()
	}
	total := 0
	for range a.Count {
		total += len(<-done)
	}
	return fmt.Sprint(total), nil
}
