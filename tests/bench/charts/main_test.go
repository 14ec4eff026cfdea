package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const output = `goos: linux
BenchmarkStart/10plugins-2         	       5	       123.4 host-µs	       100 native-µs	         1.234 x-native
BenchmarkCall/reused/64_at_once-16 	     100	         2.5 x-native
BenchmarkReference/chant-2         	       1	         0.5 x-original
BenchmarkOther                     	       1	         7 ns/op
PASS
`

func TestChartsReplaceSectionOfPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "cost.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"\nold\n"+end+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run replaces what the first has written
		if err := run(strings.NewReader(output), io.Discard, page); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		"before\n" + begin: 1, end + "\nafter\n": 1, "old": 0, "| Start, 10plugins | 1.23 × |": 1, "| Call, reused, 64 at once | 2.5 × |": 1, "(cost-native.svg)": 1, "(cost-original.svg)": 1,
		"command-line": 0, "Other": 0,
	} {
		if got := strings.Count(string(text), want); got != times {
			t.Errorf("the page has %q %d times:\n%s", want, got, text)
		}
	}
	svg, err := os.ReadFile(filepath.Join(filepath.Dir(page), "cost-native.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(svg), ">Start, 10plugins<") || !strings.Contains(string(svg), ">1.23 ×<") {
		t.Errorf("the chart lacks a benchmark: %s", svg)
	}
}

func TestChartsRefuseFailedBenchmarks(t *testing.T) {
	page := filepath.Join(t.TempDir(), "cost.md")
	if err := os.WriteFile(page, []byte(begin+"\n"+end+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		output + "FAIL\tbench\n": "failed", "": "no benchmark", "BenchmarkX 1 x y\n": "no number",
	} {
		if err := run(strings.NewReader(in), io.Discard, page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
	if err := os.WriteFile(page, []byte("no comments\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(strings.NewReader(output), io.Discard, page); err == nil || !strings.Contains(err.Error(), begin) {
		t.Error(err)
	}
}
