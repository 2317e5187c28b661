package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// patience is the time limit for events that normally take a second or two.
const patience = time.Minute

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../../deploy/crds")))
}

// blocks returns the named blocks of a page.
func blocks(t *testing.T, page string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	found, name, indent := map[string]string{}, "", ""
	inside := false
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		switch {
		case !inside && strings.HasPrefix(trimmed, "```"):
			inside, indent = true, line[:strings.Index(line, "```")]
			_, name, _ = strings.Cut(trimmed, " recipe=")
			if _, twice := found[name]; twice && name != "" {
				t.Fatalf("%s has two blocks %q", page, name)
			}
		case inside && trimmed == "```":
			inside, name = false, ""
		case inside && name != "":
			found[name] += strings.TrimPrefix(line, indent)
		}
	}
	if inside {
		t.Fatalf("%s: a block has no end", page)
	}
	return found
}

// block returns one block of a page.
func block(t *testing.T, page, name string) string {
	t.Helper()
	text, there := blocks(t, page)[name]
	if !there {
		t.Fatalf("docs/%s has no block recipe=%s", page, name)
	}
	return text
}

// programs returns a directory with the programs of bin/ under all their names.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, path := range map[string]string{"signpost": "signpost", "external-dns": "signpost", "localcluster": "localcluster", "kubectl": "kubectl"} {
		target, err := filepath.Abs(filepath.Join("../../bin", path))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(target); err != nil {
			t.Fatalf("%v: run make build bin/kubectl", err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A shell runs the commands of pages.
type shell struct {
	dir string   // working directory
	env []string // includes PATH and KUBECONFIG
}

// newShell returns a shell for the administrator of a cluster.
func newShell(t *testing.T, bin, kubeconfig string, env ...string) shell {
	t.Helper()
	own := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	return shell{dir: t.TempDir(), env: append(own, env...)}
}

// run returns the standard output of a script, and fails the test if a command fails.
func (s shell) run(t *testing.T, script string) string {
	t.Helper()
	out, err := s.try(t, script)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// try returns the standard output of a script, and its error.
func (s shell) try(t *testing.T, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-euc", script)
	cmd.Dir, cmd.Env = s.dir, s.env
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w:\n%s\nit printed:\n%s%s", err, script, out.String(), stderr.String())
	}
	return out.String(), nil
}

// A process is a program that a pod would run.
type process struct {
	*childprocess.Process
	admin string // HOST:PORT
	log   childprocess.Log
}

// start starts a program of a directory until the test ends. admin is the address that serves /ready.
func start(t *testing.T, bin, name, admin string, env []string, args ...string) *process {
	t.Helper()
	p := &process{admin: admin}
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	child, err := childprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	p.Process = child
	t.Cleanup(func() {
		child.Stop(20 * time.Second)
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, tail(p.log.String()))
		}
	})
	return p
}

func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// awaitReady waits until /ready reports success.
func (p *process) awaitReady(t *testing.T) {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	kubetest.Eventually(t, patience, func() error {
		select {
		case <-p.Exited():
			t.Fatalf("the process has ended:\n%s", tail(p.log.String()))
		default:
		}
		response, err := client.Get("http://" + p.admin + "/ready")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusOK {
			return errors.Join(fmt.Errorf("%s: %s", response.Status, body), err)
		}
		return err
	})
}

// wantAllowed fails the test if the API server has refused a request of the process.
func (p *process) wantAllowed(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(strings.ToLower(line), "forbidden") {
			t.Errorf("something is refused: %s", line)
		}
	}
}

// kubeconfigOf returns the path of a kubeconfig with the token of a service account, as in a pod.
func kubeconfigOf(t *testing.T, cluster *kubetest.Cluster, namespace, account string) string {
	t.Helper()
	token, err := cluster.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: cluster.Config.Host, CertificateAuthorityData: cluster.Config.CAData, CertificateAuthority: cluster.Config.CAFile}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: namespace}
	c.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}
