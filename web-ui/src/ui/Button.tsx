/** Buttons and links that look like buttons. */
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components";
import { Link, type LinkProps } from "react-router";

type Look = "plain" | "primary" | "danger" | "quiet";

const base =
  "inline-flex h-8 shrink-0 items-center justify-center gap-1.5 rounded-md px-3 font-medium whitespace-nowrap transition-colors disabled:opacity-45 disabled:cursor-not-allowed [&_svg]:size-4";

const looks: Record<Look, string> = {
  plain: "border border-line-strong bg-surface text-ink hover:bg-sunken data-pressed:bg-sunken",
  primary: "bg-accent text-accent-ink hover:brightness-110",
  danger: "border border-bad bg-surface text-bad hover:bg-bad-soft",
  quiet: "text-ink-2 hover:bg-sunken hover:text-ink px-2",
};

export interface ButtonProps extends AriaButtonProps {
  look?: Look;
  className?: string;
}

export function Button({ look = "plain", className = "", ...props }: ButtonProps) {
  return <AriaButton {...props} className={`${base} ${looks[look]} ${className}`} />;
}

export function ButtonLink({ look = "plain", className = "", ...props }: LinkProps & { look?: Look }) {
  return <Link {...props} className={`${base} ${looks[look]} ${className}`} />;
}
