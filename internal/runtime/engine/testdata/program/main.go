// Program is a command for tests. Its first argument selects what it does.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// runs exceeds 1 if the memory of an earlier run was not restored.
var runs = 0

// hold keeps memory allocated.
var hold [][]byte

func main() {
	runs++
	if runs > 1 {
		fmt.Println("the state of an earlier run is left")
	}
	number := func(i int) int {
		n, err := strconv.Atoi(os.Args[i])
		check(err)
		return n
	}
	switch os.Args[1] {
	case "args":
		check(json.NewEncoder(os.Stdout).Encode(os.Args))
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		check(err)
	case "count": // bytes and their sum
		buf, count, sum := make([]byte, 64<<10), 0, 0
		for {
			n, err := os.Stdin.Read(buf)
			for _, b := range buf[:n] {
				sum += int(b)
			}
			if count += n; err == io.EOF {
				break
			}
			check(err)
		}
		fmt.Print(count, " ", sum)
	case "print":
		fmt.Fprint(os.Stdout, strings.Repeat("x", number(2)))
	case "warn":
		fmt.Fprint(os.Stderr, "first", strings.Repeat("x", number(2)), "last")
	case "exit":
		fmt.Print("out")
		fmt.Fprint(os.Stderr, "err")
		os.Exit(number(2))
	case "panic":
		panic("boom")
	case "spin":
		for {
		}
	case "grow":
		for {
			hold = append(hold, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "read":
		data, err := os.ReadFile(os.Args[2])
		check(err)
		fmt.Print(string(data))
	case "leave": // leaves a file open
		_, err := os.Open(os.Args[2])
		check(err)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
