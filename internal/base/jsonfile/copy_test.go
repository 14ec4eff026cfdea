package jsonfile

import "testing"

func TestCopyKeepsTheBytesOfAMember(t *testing.T) {
	const file = "{\n  \"s\": {\n    \"a\": {\"x\": 1}, // one\n    \"b/~c\": {\n      // two\n      \"y\": [1, 2,], /* three */\n    },\n  }\n}\n"
	path := []string{"s", "b/~c"}
	without, err := Remove([]byte(file), path)
	if err != nil {
		t.Fatal(err)
	}
	if with, err := Copy(without, []byte(file), path); err != nil || string(with) != file {
		t.Errorf("got %v\n%s\nwant\n%s", err, with, file)
	}
	if got, err := Copy(nil, []byte(file), path); err != nil || string(got) != "{\n  \"s\": {\n    \"b/~c\": {\n      // two\n      \"y\": [1, 2,], /* three */\n    }\n  }\n}\n" {
		t.Errorf("got %v\n%s", err, got)
	}
	if got, err := Copy([]byte(file), []byte(file), []string{"s", "none"}); err == nil {
		t.Errorf("an absent member was copied: %s", got)
	}
}
