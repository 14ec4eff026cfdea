//go:build unix

package tests

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// uiPages is a running `bulkhead ui`, and a browser that has opened its link.
type uiPages struct {
	t      *testing.T
	base   string // URL of the pages without a slash at its end; until the link is opened, that of the server
	at     string // URL of the last page
	client *http.Client
	cmd    *exec.Cmd
	output *bufio.Reader
}

// startUI starts `bulkhead ui` in a directory, without opening the link.
func startUI(t *testing.T, dir string, env []string, args ...string) (p *uiPages, link string) {
	t.Helper()
	cmd := exec.Command(built.program(t), append([]string{"ui", "--no-open"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p = &uiPages{t: t, client: &http.Client{Jar: jar}, cmd: cmd, output: bufio.NewReader(stdout)}
	pattern := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/link/\w+`)
	for {
		line, err := p.output.ReadString('\n')
		if found := pattern.FindStringSubmatch(line); found != nil {
			p.base = found[1]
			return p, found[0]
		}
		if err != nil {
			t.Fatalf("no link was printed: %v", err)
		}
	}
}

// open opens the link, which leads to the start page.
func (p *uiPages) open(link string) (int, string) {
	p.t.Helper()
	status, body := p.get(link)
	p.base = strings.TrimSuffix(p.at, "/grants")
	return status, body
}

// get returns status and body of a page.
func (p *uiPages) get(url string) (int, string) {
	p.t.Helper()
	answer, err := p.client.Get(url)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	p.at = answer.Request.URL.String()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestUIServesPagesToTheBrowserThatOpenedTheLink(t *testing.T) {
	t.Parallel()
	dir := newDir(t, map[string]string{"bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = %q\n", built.plugins(t)+"/hello")})
	p, link := startUI(t, dir, environment(t), "--config", "bulkhead.toml")
	if status, body := p.get(p.base + "/doctor"); status != http.StatusForbidden || strings.Contains(body, "Checks") {
		t.Errorf("without the link, got %d: %s", status, body)
	}
	server := p.base
	if status, body := p.open(link); status != http.StatusOK || !strings.Contains(body, "<caption>Tools of hello</caption>") {
		t.Fatalf("the link is answered with %d: %s", status, body)
	}
	if status, body := p.get(p.base + "/doctor"); status != http.StatusOK || !strings.Contains(body, "/bulkhead.toml") {
		t.Errorf("the page Doctor is answered with %d: %s", status, body)
	}
	if status, _ := p.get(server + "/doctor"); status != http.StatusForbidden {
		t.Errorf("outside of the path of the session, got %d", status)
	}
	if status, _ := p.get(link); status != http.StatusForbidden {
		t.Errorf("the second use of the link is answered with %d", status)
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
