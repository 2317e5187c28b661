package awssd

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/cloudmaptest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// Two owners and a person use a namespace, with the faults of a schedule: requests that are
// throttled, fail before or after they had their effect, or lose their connection; operations
// that fail; listings and revisions that lag behind; processes that are new, and others that
// aren't. Nobody touches the services of another one, and no instance of an owner is in a service
// whose description doesn't say so. Two cycles after the last fault, everything is as it should be.
func TestFaults(t *testing.T) {
	start(t)
	t.Setenv("AWS_ENDPOINT_URL_SERVICEDISCOVERY", "")
	publishertest.Schedules(t, 10, func(t *testing.T, seed uint64) { newSchedule(t, seed).play() })
}

// schedule is the state of a test of faults.
type schedule struct {
	t      *testing.T
	random *rand.Rand
	// mu guards what requests use that are sent at the same time: random and persons.
	mu sync.Mutex
	// operations decides which operations fail.
	operations *rand.Rand
	server     *cloudmaptest.Server
	cleanup    bool
	owners     []*publishing
	// persons has the services of the person, by their names.
	persons map[string]string
	// broken is how many of a hundred requests fail, and racing whether the person makes a service
	// right before an owner does.
	broken int
	racing bool
}

// publishing is an owner in a schedule.
type publishing struct {
	*fixture
	id     string
	wanted map[string][]*dns.RecordSet
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	random := rand.New(rand.NewPCG(seed, 7))
	base := newFixture(t)
	s := &schedule{t: t, random: random, operations: rand.New(rand.NewPCG(seed, 8)), server: base.server, cleanup: random.IntN(2) == 0, persons: map[string]string{}}
	s.server.SetRate(0)
	s.server.SetTime(time.Duration(random.IntN(4000)) * time.Millisecond)
	s.server.SetLag(time.Duration(random.IntN(5)) * time.Second)
	s.server.SetRevisionLag(time.Duration(random.IntN(5)) * time.Second)
	for _, id := range []string{"one", "two"} {
		w := newOwner(t, s.server, id)
		if s.cleanup {
			w.arguments = []string{"--aws-sd-service-cleanup"}
		}
		s.owners = append(s.owners, &publishing{fixture: w, id: id, wanted: map[string][]*dns.RecordSet{}})
	}
	s.server.SetHooks(cloudmaptest.Hooks{Before: s.before, After: s.after})
	s.server.SetOperation(s.operation)
	return s
}

func (s *schedule) play() {
	for range 14 {
		s.step()
		s.check()
	}
	s.broken, s.racing = 0, false
	time.Sleep(time.Hour) // the provider waits before it repeats a change of type that was refused
	for range 2 {
		for _, o := range s.owners {
			// Names that somebody else has are an error.
			_, _ = o.publish()
		}
	}
	s.check()
	for range 2 {
		for _, o := range s.owners {
			if requests, _ := o.publish(); writes(requests) > requests["CreateService"] {
				s.t.Errorf("%s still writes: %v", o.id, requests)
			}
		}
		time.Sleep(lag)
	}
	for _, o := range s.owners {
		s.settled(o)
	}
}

// publish runs an owner once.
func (o *publishing) publish() (map[string]int, error) {
	var all []*dns.RecordSet
	for _, sets := range o.wanted {
		all = append(all, sets...)
	}
	return o.Run(all...)
}

// draw reports true so many times of a hundred.
func (s *schedule) newBlueprint(percent int) bool { return s.random.IntN(100) < percent }

// fault is one of those that a request may have before it has an effect, or after it.
func (s *schedule) fault(made bool) *cloudmaptest.Fault {
	if !s.newBlueprint(s.broken) {
		return nil
	}
	faults := []*cloudmaptest.Fault{cloudmaptest.Failed, cloudmaptest.Lost}
	if !made {
		faults = append(faults, cloudmaptest.Throttled, cloudmaptest.LimitExceeded)
	}
	return faults[s.random.IntN(len(faults))]
}

func (s *schedule) before(c cloudmaptest.Call) *cloudmaptest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := c.Field("Name"); s.racing && c.Operation == "CreateService" && s.newBlueprint(20) && s.free(name) {
		s.make(name)
	}
	return s.fault(false)
}

func (s *schedule) after(cloudmaptest.Call) *cloudmaptest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault(true)
}

// operation has operations fail. It is called with the lock of the server, and has a generator of
// its own.
func (s *schedule) operation(string, string) string {
	if s.operations.IntN(100) >= s.broken/2 {
		return ""
	}
	return []string{"INTERNAL_FAILURE", "THROTTLED_REQUEST", "INVALID_CHANGE_BATCH"}[s.operations.IntN(3)]
}

// step makes one random event happen, and has an owner publish.
func (s *schedule) step() {
	o := s.owners[s.random.IntN(2)]
	for range 1 + s.random.IntN(4) {
		s.ask(o)
	}
	s.changeExternally()
	s.broken, s.racing = []int{0, 5, 15, 40}[s.random.IntN(4)], s.newBlueprint(30)
	if o.Provider == nil || s.newBlueprint(40) {
		o.Provider = o.open()
	}
	_, err := o.publish()
	s.t.Logf("%v %s publishes with %d%% faults: %v", time.Now(), o.id, s.broken, err)
	time.Sleep(time.Duration(s.random.IntN(20)) * time.Second)
}

// ask changes what an owner wants under a name.
func (s *schedule) ask(o *publishing) {
	label := fmt.Sprintf("%s-%d", o.id, s.random.IntN(4))
	if s.newBlueprint(25) {
		label = fmt.Sprint("shared", s.random.IntN(3))
	}
	n := 1 + s.random.IntN(3)
	four, six := make([]string, n), fmt.Sprintf("2001:db8::%d", s.random.IntN(4))
	for i := range four {
		four[i] = fmt.Sprintf("192.0.2.%d", i+s.random.IntN(3)*10)
	}
	ttl := int64(60 * (1 + s.random.IntN(2)))
	a, aaaa := lasting(ttl, set(label, "A", strings.Join(four, ","))), lasting(ttl, set(label, "AAAA", six))
	switch s.random.IntN(6) {
	case 0:
		delete(o.wanted, label)
	case 1:
		o.wanted[label] = []*dns.RecordSet{lasting(ttl, set(label, "CNAME", fmt.Sprintf("lb%d.example.net", n)))}
	case 2:
		o.wanted[label] = []*dns.RecordSet{lasting(ttl, set(label, "CNAME", fmt.Sprintf("lb%d.eu-north-1.elb.amazonaws.com", n)))}
	case 3:
		o.wanted[label] = []*dns.RecordSet{a, aaaa}
	case 4:
		o.wanted[label] = []*dns.RecordSet{aaaa}
	default:
		o.wanted[label] = []*dns.RecordSet{a}
	}
}

func (s *schedule) free(label string) bool {
	_, taken := s.server.Services("ns-1")[label]
	return !taken
}

// make has the person make a service, with or without a description.
func (s *schedule) make(label string) {
	v := cloudmaptest.Service{Namespace: "ns-1", Name: label, Config: addresses(), Description: []string{"", "of the shop team"}[s.random.IntN(2)]}
	if s.newBlueprint(70) {
		v.Instances = address("203.0.113.1")
	}
	s.server.Put(v)
	s.persons[label] = line(v)
}

// changeExternally lets the other writer do something.
func (s *schedule) changeExternally() {
	label := fmt.Sprint("shared", s.random.IntN(3))
	v, there := s.server.Services("ns-1")[label]
	_, persons := s.persons[label]
	switch n := s.random.IntN(6); {
	case n == 0 && !there:
		s.make(label)
	case n == 1 && persons:
		s.server.Remove("ns-1", label)
		delete(s.persons, label)
	case n == 2 && there && !persons && v.Config.DNSRecords[0].Type == "A":
		// An edit by hand of what an owner has made; it stays the owner's.
		v.Instances = map[string]map[string]string{"by-hand": {attributeIPv4: "203.0.113.9"}}
		if v.Config.RoutingPolicy == "MULTIVALUE" && len(v.Config.DNSRecords) == 1 {
			s.server.Put(v)
		}
	}
}

// check checks what holds at any time.
func (s *schedule) check() {
	services := s.server.Services("ns-1")
	for label, want := range s.persons {
		if got := line(services[label]); got != want {
			s.t.Errorf("the person had %s, and has %s", want, got)
		}
	}
	for label, v := range services {
		if _, persons := s.persons[label]; persons {
			continue
		}
		if id := ownerOf(v.Description); id != "one" && id != "two" {
			s.t.Errorf("an owner has made %s, and it doesn't say so", line(v))
		} else if strings.Contains(label, "-") && !strings.HasPrefix(label, id+"-") {
			s.t.Errorf("%s is of %q", line(v), id)
		}
	}
}

// settled checks that an owner has what it wants, and nothing else.
func (s *schedule) settled(o *publishing) {
	services := s.server.Services("ns-1")
	zone := dns.Zone{ID: "ns-1", Name: zoneName}
	for label, v := range services {
		if ownerOf(v.Description) != o.id {
			continue
		}
		if o.wanted[label] == nil && (len(v.Instances) > 0 || s.cleanup) {
			s.t.Errorf("%s has %s, which it doesn't want", o.id, line(v))
		}
	}
	for label, wanted := range o.wanted {
		v, there := services[label]
		if there && ownerOf(v.Description) != o.id && (s.persons[label] != "" || !strings.Contains(label, "-")) {
			continue // Somebody else has it.
		}
		var want []*dns.RecordSet
		for _, r := range wanted {
			fit, err := adjusted(zone, r)
			if err != nil {
				s.t.Fatal(err)
			}
			want = append(want, fit)
		}
		b, err := newBlueprint(want)
		if err != nil {
			s.t.Fatal(err)
		}
		expected := cloudmaptest.Service{Name: label, Config: &cloudmaptest.DNSConfig{RoutingPolicy: string(b.routing)}, Instances: b.instances, Description: v.Description}
		for _, r := range b.records {
			expected.Config.DNSRecords = append(expected.Config.DNSRecords, cloudmaptest.Record{Type: string(r.Type), TTL: *r.TTL})
		}
		if line(v) != line(expected) {
			s.t.Errorf("%s has\n\t%s, and wants\n\t%s", o.id, line(v), line(expected))
		}
	}
}
