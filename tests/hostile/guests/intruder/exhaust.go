package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

func spin(order) (string, error) {
	for rounds := 0; ; rounds++ {
		if rounds < 0 {
			return "it is over", nil
		}
	}
}

func recurse(o order) (string, error) {
	return fmt.Sprint(deeper(o.Count)), nil
}

// deeper never comes back.
func deeper(n int) int {
	if n == -1 {
		return 0
	}
	return deeper(n+1) + n
}

var kept [][]byte

func grow(order) (string, error) {
	for {
		kept = append(kept, make([]byte, 1<<20))
	}
}

// hold keeps so many MiB, and throws as much away.
func hold(o order) (string, error) {
	var held [][]byte
	for range o.Count << 4 {
		held = append(held, make([]byte, 64<<10))
	}
	for range held {
		kept = [][]byte{make([]byte, 64<<10)}
	}
	return fmt.Sprintf("%d MiB", len(held)>>4), nil
}

func sleep(order) (string, error) {
	time.Sleep(time.Duration(1<<63 - 1))
	return "awake", nil
}

func exit(o order) (string, error) {
	os.Exit(o.Count)
	return "", nil
}

func crash(order) (string, error) { panic("out of tea\x1b[2J") }

// printOut prints what looks like the protocol, with what would steer a terminal.
func printOut(o order) (string, error) {
	for range o.Count {
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` + "\x1b[2J")
	}
	return "printed", nil
}

// spawn starts more goroutines than anybody needs.
func spawn(o order) (string, error) {
	done := make(chan string)
	for range o.Count {
		go func() { done <- strings.Repeat("x", 10) }()
	}
	total := 0
	for range o.Count {
		total += len(<-done)
	}
	return fmt.Sprint(total), nil
}
