// Package tokens estimates how many tokens of a language model a text has, and so what a tool costs in its context. Models differ, and most keep
// their tokenizers to themselves, so that no exact number exists. docs/context.md compares the estimate with four tokenizers.
package tokens

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bytes that a token has of each kind of run.
const (
	ofLetters     = 10 // a common word is one token, together with the space before it
	ofDigits      = 3
	ofPunctuation = 4 // the punctuation of JSON has tokens such as ":{"
)

// kind is a kind of bytes.
type kind int

const (
	letter kind = iota
	digit
	space // the single space before a word or a number belongs to it
	newline
	punctuation
	other // characters outside of ASCII, one token each
)

// Estimate returns the approximate number of tokens of a text.
func Estimate(text string) int {
	tokens := 0
	for i := 0; i < len(text); {
		k, end := kindOf(text[i]), i+1
		for end < len(text) && k != other && kindOf(text[end]) == k {
			end++
		}
		switch run := end - i; k {
		case letter:
			tokens += partsOf(run, ofLetters)
		case digit:
			tokens += partsOf(run, ofDigits)
		case punctuation:
			tokens += partsOf(run, ofPunctuation)
		case newline:
			tokens++
		case space:
			tokens += min(run-1, 1)
		case other:
			_, size := utf8.DecodeRuneInString(text[i:])
			tokens, end = tokens+1, i+size
		}
		i = end
	}
	return tokens
}

func partsOf(run, size int) int { return (run + size - 1) / size }

func kindOf(c byte) kind {
	switch lower := c | 0x20; {
	case c >= utf8.RuneSelf:
		return other
	case lower >= 'a' && lower <= 'z':
		return letter
	case c >= '0' && c <= '9':
		return digit
	case c == '\n' || c == '\r':
		return newline
	case c == ' ' || c == '\t':
		return space
	}
	return punctuation
}

// Cost is what something costs in the context of a model.
type Cost struct {
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"` // estimated
}

// TextOf returns what clients pass to models of a tool: a JSON object with its name, its description and the schema of its arguments.
func TextOf(name, description string, input json.RawMessage) string {
	return `{"name":` + string(rawjson.Quote(name)) + `,"description":` + string(rawjson.Quote(description)) + `,"input_schema":` + string(input) + `}`
}

// List is what a list of tools costs in each conversation.
type List struct {
	Tools int `json:"tools"` // their number
	Cost
	Largest       string `json:"largest,omitempty"` // name of the tool that costs most; empty if there is none
	LargestTokens int    `json:"largest_tokens,omitempty"`
}

// Add adds a tool, and returns its cost.
func (l *List) Add(name, description string, input json.RawMessage) Cost {
	text := TextOf(name, description, input)
	cost := Cost{len(text), Estimate(text)}
	l.Tools++
	l.Bytes += cost.Bytes
	l.Tokens += cost.Tokens
	if cost.Tokens > l.LargestTokens {
		l.Largest, l.LargestTokens = name, cost.Tokens
	}
	return cost
}

// String returns a sentence without its end.
func (l List) String() string {
	switch l.Tools {
	case 0:
		return "no tools are in the list"
	case 1:
		return fmt.Sprintf("1 tool in the list costs about %d tokens of each conversation", l.Tokens)
	}
	return fmt.Sprintf("%d tools in the list cost about %d tokens of each conversation; the largest, %s, costs %d", l.Tools, l.Tokens, l.Largest, l.LargestTokens)
}
