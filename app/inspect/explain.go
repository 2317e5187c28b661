package inspect

import (
	"cmp"
	"context"
	"fmt"
)

// maxSteps and maxMore limit an explanation.
const (
	maxSteps = 200
	maxMore  = 20
)

// Explain joins the steps of the roles about a subject.
func (s *Server) Explain(ctx context.Context, q Query) Explanation {
	steps := []Step{}
	for _, o := range s.config.Offers {
		if o.Explains == nil {
			continue
		}
		for _, step := range o.Explains.Explain(ctx, q) {
			step.Role = cmp.Or(step.Role, o.Role)
			steps = append(steps, step)
		}
	}
	return Conclude(q.String(), append(steps, s.problemSteps(q)...))
}

// problemSteps returns the known problems of the object of a query, and of a Service's
// ServiceProfile. They are notes, because the object may have been corrected since. Their role is
// the one with Services, which knows most of them.
func (s *Server) problemSteps(q Query) []Step {
	var steps []Step
	for _, p := range s.allProblems() {
		if !q.concerns(&p.Object, s.config.ClusterDomain) || len(steps) == maxMore {
			continue
		}
		object, part := p.Object, p.Object.Title()
		if p.Field != "" {
			part += ", " + p.Field
		}
		steps = append(steps, Step{
			Role: s.offered.serving.Role, What: "Problem", State: StepNote, Object: &object,
			Text: fmt.Sprintf("%s: %s; signpost problems says since when", part, p.Reason),
		})
	}
	return steps
}

// concerns reports whether a query is about an object of our own cluster.
func (q *Query) concerns(o *ObjectRef, domain string) bool {
	switch {
	case o.Cluster != "":
		return false
	case q.Service != nil && o.Kind == "ServiceProfile":
		return o.Name == q.Service.Name+"."+q.Service.Namespace+".svc."+domain
	case q.Service != nil:
		return o.Kind == "Service" && o.Namespace == q.Service.Namespace && o.Name == q.Service.Name
	default:
		return q.Object != nil && o.Kind == q.Object.Kind && o.Namespace == q.Object.Namespace && o.Name == q.Object.Name
	}
}

// Conclude makes an explanation of steps. The verdict is that of the worst step, and the summary is
// the first step with it, because an early problem causes later ones. It is a pure function.
func Conclude(subject string, steps []Step) Explanation {
	e := Explanation{Subject: subject, Verdict: VerdictUnknown, Steps: make([]Step, 0, min(len(steps), maxSteps))}
	for _, step := range steps[:min(len(steps), maxSteps)] {
		if n := len(step.More); n > maxMore {
			step.More = append(append([]string{}, step.More[:maxMore-1]...), fmt.Sprintf("and %d more", n-maxMore+1))
		}
		e.Steps = append(e.Steps, step)
	}
	if step := firstStep(steps, StepWrong); step != nil {
		e.Verdict, e.Summary = VerdictWrong, step.Text
		return e
	}
	if step := firstStep(steps, StepUnknown); step != nil {
		e.Summary = step.Text
		return e
	}
	if step := firstNote(steps); step != nil {
		// Notes are intended.
		e.Verdict, e.Summary = VerdictOK, step.Text
	} else {
		e.Summary = "nothing is known about " + subject + " here: check the name, or query processes with other roles"
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].State == StepOK {
			e.Verdict, e.Summary = VerdictOK, steps[i].Text
			break
		}
	}
	return e
}

// firstNote returns the first note about an object, else the first note: a role that has nothing to do with
// objects of a kind says only that.
func firstNote(steps []Step) *Step {
	for i := range steps {
		if steps[i].State == StepNote && steps[i].Object != nil {
			return &steps[i]
		}
	}
	return firstStep(steps, StepNote)
}

func firstStep(steps []Step, state StepState) *Step {
	for i := range steps {
		if steps[i].State == state {
			return &steps[i]
		}
	}
	return nil
}

// String names the subject, such as "Service shop/web".
func (q Query) String() string {
	switch {
	case q.Service != nil:
		return q.Service.String()
	case q.Address.IsValid() && q.Address.Port() != 0:
		return q.Address.String()
	case q.Address.Addr().IsValid():
		return q.Address.Addr().String()
	case q.Object != nil:
		return q.Object.Title()
	default:
		return q.Name
	}
}

// String names the Service, such as "Service shop/web, port 80".
func (q *ServiceQuery) String() string {
	text := "Service " + q.Namespace + "/" + q.Name
	if q.Port != 0 {
		text += fmt.Sprintf(", port %d", q.Port)
	}
	if q.Hostname != "" {
		text += ", hostname " + q.Hostname
	}
	return text
}

// Title returns KIND NAMESPACE/NAME, or KIND NAME.
func (o ObjectRef) Title() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}
