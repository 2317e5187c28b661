package page_test

import (
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

// signpost is the program; make build makes it.
const signpost = "../../bin/signpost"

// published is a Service with an address, a name in the zone, and one without zone.
const published = `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations: {external-dns.alpha.kubernetes.io/hostname: "www.example.test,www.elsewhere.test"}
spec: {type: ClusterIP, ports: [{port: 80}]}
`

// TestProcess shows that a process publishes the name of a Service from a real API server, and that its page
// shows that live.
func TestProcess(t *testing.T) {
	cluster := kubetest.Start(t)
	ns := cluster.Namespace(t)
	url := startSignpost(t, cluster.Kubeconfig, ns)
	b := newTab(t, url)
	b.open("#tab=records")
	b.awaitText("#process", "dns")
	b.awaitText("#ready", "ready")
	b.awaitText("#panel", "There is nothing here.")
	cluster.Apply(t, published, ns)
	b.await(`[...document.querySelectorAll("#panel tbody tr")].some((e) => /published[^]*www\.example\.test[^]*Service\/` + ns + `\/web/.test(e.innerText))`)
	b.await(`[...document.querySelectorAll("#panel tbody tr")].some((e) => /no-zone[^]*www\.elsewhere\.test/.test(e.innerText))`)
	b.awaitText("#feed", "www.example.test")
	b.await(`/published 1/.test(document.querySelector("#tiles").innerText.replace(/\s+/g, " "))`)
	b.run(chromedp.SendKeys(chromedp.CSS("#q"), "www.elsewhere.test"), chromedp.Click(chromedp.CSS("#ask button")))
	b.await(`document.querySelector("#answer").className.includes("is-wrong") && document.querySelectorAll("#steps > li").length > 0`)
	b.shot("process")
	b.run(chromedp.Click(chromedp.CSS("#tab-tables")))
	b.awaitText("#panel", "synced service 1")
}

// startSignpost runs the dns role until the test ends, and returns the address of its admin server.
func startSignpost(t *testing.T, kubeconfig, ns string) (url string) {
	t.Helper()
	admin := kubetest.Address(t)
	cmd := exec.Command(signpost, "dns", "--source=service", "--namespace="+ns, "--publish-internal-services", "--provider=inmemory", "--inmemory-zone=example.test",
		"--domain-filter=", "--policy=sync", "--registry=noop", "--metrics-address="+admin, "--kubeconfig="+kubeconfig, "--interval=1s", "--events")
	programtest.Start(t, cmd, admin).AwaitReady(t)
	return "http://" + admin
}
