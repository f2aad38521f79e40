/** The frame around every view: navigation at the side (at the foot on a narrow screen) and the state of the live stream. */
import { Blocks, Moon, Rows3, Sun, Upload, Waypoints } from "lucide-react";
import { RouterProvider as AriaRouterProvider } from "react-aria-components";
import { Link, Outlet, useHref, useLocation, useNavigate, useNavigation } from "react-router";
import { useConnection, useFiguresAt } from "../live/context";
import { Button } from "../ui/Button";
import { time } from "../ui/format";
import { toggleTheme, useTheme } from "./theme";

/** `under` is where the paths of a view begin, beside the path of the link itself. */
const views = [
  { to: "/", under: "/pipelines", text: "Pipelines", icon: Waypoints },
  { to: "/topics", under: "/topics", text: "Topics", icon: Rows3 },
  { to: "/modules", under: "/modules", text: "Modules", icon: Blocks },
  { to: "/deploy", under: "/deploy", text: "Deploy", icon: Upload },
];

export function Shell() {
  const navigate = useNavigate();
  return (
    <AriaRouterProvider navigate={(to) => void navigate(to)} useHref={useHref}>
      <div className="flex h-full flex-col md:flex-row">
        <a
          href="#main"
          className="absolute left-2 z-50 -translate-y-16 rounded bg-accent px-3 py-1.5 text-accent-ink focus:translate-y-2"
        >
          Skip to the content
        </a>
        <Sidebar />
        <Progress />
        <main id="main" tabIndex={-1} className="min-h-0 min-w-0 flex-1 overflow-y-auto outline-none">
          <LostNote />
          <Outlet />
        </main>
      </div>
    </AriaRouterProvider>
  );
}

function Sidebar() {
  const { pathname } = useLocation();
  return (
    <aside className="contents md:flex md:w-44 md:shrink-0 md:flex-col md:border-r md:border-line md:bg-surface">
      <div className="flex items-center justify-between border-b border-line bg-surface px-4 py-2 md:border-0 md:px-4 md:pt-5 md:pb-3">
        <Link to="/" className="flex items-center gap-2 text-sm font-semibold">
          <Mark />
          Weir
        </Link>
        <span className="flex items-center gap-1 md:hidden">
          <ConnectionNote />
          <ThemeButton />
        </span>
      </div>
      <nav
        aria-label="Views"
        className="order-last flex shrink-0 justify-around border-t border-line bg-surface md:order-none md:flex-1 md:flex-col md:justify-start md:gap-0.5 md:border-0 md:px-2"
      >
        {views.map(({ to, under, text, icon: Icon }) => {
          const active = pathname === to || pathname.startsWith(under);
          return (
            <Link
              key={to}
              to={to}
              aria-current={active ? "page" : undefined}
              className={`flex flex-1 flex-col items-center gap-0.5 px-2 py-1.5 text-2xs font-medium md:flex-none md:flex-row md:gap-2.5 md:rounded-md md:text-sm ${
                active ? "text-accent md:bg-accent-soft" : "text-ink-2 hover:text-ink md:hover:bg-sunken"
              }`}
            >
              <Icon aria-hidden className="size-5 md:size-4" />
              {text}
            </Link>
          );
        })}
      </nav>
      <div className="hidden items-center justify-between border-t border-line px-3 py-2 md:flex">
        <ConnectionNote />
        <ThemeButton />
      </div>
    </aside>
  );
}

const connections = {
  connecting: { text: "Connecting", dot: "bg-ink-3" },
  live: { text: "Live", dot: "bg-good" },
  lost: { text: "No connection", dot: "bg-bad animate-pulse" },
};

function ConnectionNote() {
  const { text, dot } = connections[useConnection()];
  return (
    <span role="status" className="flex items-center gap-1.5 px-1 text-xs text-ink-2">
      <span aria-hidden className={`size-2 rounded-full ${dot}`} />
      {text}
    </span>
  );
}

/** Says that the figures on the page are old. */
function LostNote() {
  const connection = useConnection();
  const at = useFiguresAt();
  if (connection !== "lost") return null;
  return (
    <p role="alert" className="border-b border-line bg-warn-soft px-4 py-1.5 text-warn md:px-6">
      No connection to the server; it is tried again by itself.{at !== undefined && ` Figures are as of ${time(at)}.`}
    </p>
  );
}

function ThemeButton() {
  const dark = useTheme() === "dark";
  return (
    <Button look="quiet" aria-label={dark ? "Use the light theme" : "Use the dark theme"} onPress={toggleTheme}>
      {dark ? <Sun aria-hidden /> : <Moon aria-hidden />}
    </Button>
  );
}

/** A thin line at the top while the next view loads. */
function Progress() {
  const loading = useNavigation().state === "loading";
  return loading ? <div aria-hidden className="fixed inset-x-0 top-0 z-50 h-0.5 animate-pulse bg-accent" /> : null;
}

function Mark() {
  return (
    <svg aria-hidden viewBox="0 0 32 32" className="size-6">
      <rect width="32" height="32" rx="7" className="fill-accent" />
      <path
        d="M5 11c3.5 0 3.5 3 7 3s3.500-3 7-3h8M5 21h8c3.500 0 3.500-3 7-3s3.500 3 7 3"
        fill="none"
        strokeWidth="2.6"
        strokeLinecap="round"
        className="stroke-accent-ink"
      />
    </svg>
  );
}
